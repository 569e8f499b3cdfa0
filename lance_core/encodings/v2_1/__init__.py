"""Fields of 2.1 and 2.2 files: columns of leaves, whose pages are layouts around encodings."""
