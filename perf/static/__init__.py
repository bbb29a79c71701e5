"""What can be said about speed without a GPU: machine code, traffic, cost on the host."""
