"""Speeds. Nothing here is a test; `make bench` prints its figures and writes benchmarks/RESULTS.md."""
