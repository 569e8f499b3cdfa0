"""Thread pools, caches, locks and back-off, shared by the whole library."""
