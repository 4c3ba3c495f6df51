"""Averages over the neighbor graph, as a step after any learner."""
