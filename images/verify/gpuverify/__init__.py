"""The proof: measures GPUs and what lies between them, and judges what was measured. Needs only Python and torch."""
