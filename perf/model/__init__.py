"""A model of the time that a call takes on a GPU. It is no measurement."""
