"""The budget meter: watches price × time, tells people, and ends the compute at the limit. Standard library only."""
