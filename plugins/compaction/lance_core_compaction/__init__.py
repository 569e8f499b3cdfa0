"""Compaction by copying the bytes of pages.

`plugin` offers it to lance-core, `binary_copy` says which fragments it can copy, `copy_inputs`
opens their files, and `file_copy` writes a file; see the design page of binary copy.
"""
