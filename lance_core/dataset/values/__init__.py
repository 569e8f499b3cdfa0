"""The value classes of the public API: operations, transactions, fragment metadata."""
