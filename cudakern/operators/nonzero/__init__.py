"""Nonzero-coordinates: where elements are not zero."""
