"""The simulator: kernels run on the host's processor, compiled from their unchanged text."""
