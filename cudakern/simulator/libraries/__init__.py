"""Modules of PTX as shared libraries of the host: built, kept, loaded."""
