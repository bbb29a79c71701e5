"""One-hot: indices become vectors that are on at one position."""
