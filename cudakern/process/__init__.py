"""What outlives forks, threads and signals: locks, undivided work, caches, late imports."""
