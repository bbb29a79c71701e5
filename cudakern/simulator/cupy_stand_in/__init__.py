"""What `import cupy` gives inside of `in_place_of_cupy`: NumPy's arrays, the simulator's kernels.

Modules that programs see are made by `modules`; nothing is imported before they are asked for.
"""
