"""Transactions: operations, what they change, and which of them may follow which."""
