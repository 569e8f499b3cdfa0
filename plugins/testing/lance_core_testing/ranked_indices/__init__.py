"""The contract of searches and of the indices that answer them, as tests to inherit."""
