"""Find the rows that a filter selects with the indices of the table, before data is read."""
