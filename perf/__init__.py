"""Benchmarks of the operators: ``python -m perf --help``."""
