"""The partitions of an IVF index: what files say of them, which to search, their codes."""
