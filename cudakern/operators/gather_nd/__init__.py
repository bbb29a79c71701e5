"""Gather by index tuples, with batch dimensions."""
