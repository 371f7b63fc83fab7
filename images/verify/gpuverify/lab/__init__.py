"""The fault lab: everything that must turn a verdict red, by explicit seams; and clean runs that must not."""
