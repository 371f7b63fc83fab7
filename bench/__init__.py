"""Benchmarks: figures are ratios measured within one run, since machines differ and drift."""
