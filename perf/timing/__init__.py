"""Our operators and their peers, timed in turn on a GPU or checked in the simulator."""
