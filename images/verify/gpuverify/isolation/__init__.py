"""Which node or link of many is bad: the rounds that are run, and what may be concluded from them."""
