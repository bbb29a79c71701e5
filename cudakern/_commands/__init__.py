"""The commands of ``python -m cudakern``, one module each."""
