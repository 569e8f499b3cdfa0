"""Build vector indices: train partitions and codebooks, encode all rows, write the files."""
