"""Word alignment: a slice of its own, which the core does not know."""
