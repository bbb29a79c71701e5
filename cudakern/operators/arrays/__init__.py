"""Arrays that operators take: of NumPy and CuPy, of other libraries, of Dask."""
