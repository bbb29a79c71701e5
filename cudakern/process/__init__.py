"""What outlives forks, threads and signals: locks, whole pieces of work, caches, late imports."""
