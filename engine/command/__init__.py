"""A stand-in for the vendor's `command` plugin 1.2.1: same tokens, same schema, same documented behaviour."""
