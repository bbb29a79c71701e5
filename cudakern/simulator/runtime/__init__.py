"""The C++ under every kernel, and what Python shares with it."""
