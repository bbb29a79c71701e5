"""Operators: a folder each, with its function, its DirectML descriptor and its plan."""
