"""Nonzero-coordinates: the positions of elements that are not zero."""
