"""Fields of 2.1 and 2.2 files: one column per leaf, page layouts, compressive encodings."""
