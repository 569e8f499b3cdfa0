"""A year of flights from New York: CSV to a Lance table, two batches, queries, an old version."""
