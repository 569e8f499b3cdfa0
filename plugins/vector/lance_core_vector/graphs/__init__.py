"""The graphs of indices of type IVF_HNSW, one for each partition."""
