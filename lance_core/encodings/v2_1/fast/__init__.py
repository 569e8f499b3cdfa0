"""Fast paths of reads and writes of 2.1 and 2.2 files; the plain ways are `read` and `write`."""
