"""A stand-in for the vendor's Python language host: same calls, same screens, same exit codes."""
