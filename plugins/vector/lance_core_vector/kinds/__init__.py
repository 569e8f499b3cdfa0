"""The vector indices of the format: one index type for all kinds of them."""
