"""Value encodings of plugins: the interface, and the blocks that store the values."""
