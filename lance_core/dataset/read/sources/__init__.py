"""Where the rows of a scan come from: fragments, named rows, or the search of indices."""
