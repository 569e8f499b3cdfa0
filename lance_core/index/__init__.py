"""Secondary indices: the contract of index types, and the tools that they are written with."""
