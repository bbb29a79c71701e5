"""The commands of ``python -m cudakern``, one module each. They need the package rich."""
