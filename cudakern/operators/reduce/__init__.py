"""Reduce: twelve functions of an array over some of its axes."""
