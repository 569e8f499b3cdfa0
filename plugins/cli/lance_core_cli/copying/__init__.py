"""`copy_table` copies a table with all its versions from one store to another."""
