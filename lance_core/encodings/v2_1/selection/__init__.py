"""Which encodings the values of a page get: what pylance chooses."""
