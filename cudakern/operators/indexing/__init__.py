"""What gather, gather_nd and one_hot do with indices alike."""
