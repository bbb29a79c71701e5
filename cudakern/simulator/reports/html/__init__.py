"""Reports as pages for a browser."""
