"""Benchmarks. Each module prints a table when run with ``python -m``."""
