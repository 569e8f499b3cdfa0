"""Values in encodings of plugins: the contract, and the blocks that they are stored in."""
