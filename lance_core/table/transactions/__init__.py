"""Transactions: operations, the versions that they produce, and their conflicts."""
