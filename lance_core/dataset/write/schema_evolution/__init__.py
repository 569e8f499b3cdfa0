"""Change the columns of a table: new data files beside the old ones, or a new schema only."""
