"""The windows of a scan: how many rows are read at a time, by how many threads, how far ahead."""
