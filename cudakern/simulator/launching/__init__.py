"""Kernels launched on NumPy arrays: arguments, arrays, observation."""
