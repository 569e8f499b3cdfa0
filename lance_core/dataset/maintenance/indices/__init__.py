"""Create, extend, describe and drop the indices of a table."""
