"""Facts only, one row per thing. What is done with them lives elsewhere, in a file of the same name."""
