"""`LanceDataset.merge_insert`: join new data with a table, then update, insert and delete rows."""
