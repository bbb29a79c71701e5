"""The machine code of the kernels, compiled and read without a GPU, and what it is held to."""
