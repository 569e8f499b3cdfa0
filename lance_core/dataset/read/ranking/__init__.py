"""Ranked scans: the best rows for a query, from indices and from the values of other rows."""
