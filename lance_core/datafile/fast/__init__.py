"""Fast paths of reads and writes of data files."""
