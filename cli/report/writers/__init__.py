"""The forms that a report takes, one file each: a function from the report to text."""
