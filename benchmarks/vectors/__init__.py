"""Vector search: builds, queries, recall and sizes of each kind of index."""
