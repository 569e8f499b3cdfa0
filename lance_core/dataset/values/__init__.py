"""The values that users exchange with a table: operations, transactions, metadata of fragments."""
