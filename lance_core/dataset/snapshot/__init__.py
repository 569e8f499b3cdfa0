"""One version of a table, open, and how it is found."""
