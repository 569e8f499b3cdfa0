"""Secondary indices: the contract of index types, their files, and the built-in types."""
