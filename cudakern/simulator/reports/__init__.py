"""Reports of observed launches: what was wrong, what moved."""
