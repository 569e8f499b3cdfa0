"""File version 0.1: a field is a column of batches, and each batch of a column is one page.

`plugin` offers the version to lance-core, `metadata` reads the end of a file, `fields` and `values`
decode pages, `statistics` reads the bounds of batches, and `writer` writes files.
"""
