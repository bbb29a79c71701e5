"""Gather: slices of a tensor along one axis."""
