"""What gather, gather_nd and one_hot have in common: indices, and rows that these select."""
