"""Looking after a table's files: cleanup, clones, checks, removal."""
