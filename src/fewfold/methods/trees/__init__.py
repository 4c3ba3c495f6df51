"""Tree ensembles whose fitted state is plain arrays."""
