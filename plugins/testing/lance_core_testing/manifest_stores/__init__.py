"""The contract of external manifest stores, and a store in memory that fulfils it."""
