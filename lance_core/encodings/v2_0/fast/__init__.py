"""Fast paths of reads of 2.0 files: many small pages or columns at once."""
