"""The fast paths of reads of 2.1 and 2.2 files, in the order in which they are tried.

The comments tell how much processor time a read takes without the path, relative to that with it.
"""

from __future__ import annotations

from lance_core.encodings.v2_1.fast.long_values import LongValues
from lance_core.encodings.v2_1.fast.one_page import OnePage
from lance_core.encodings.v2_1.fast.page_classes import PageClasses
from lance_core.encodings.v2_1.fast.page_runs import SimilarPages
from lance_core.encodings.v2_1.fast.single_lists import SingleList
from lance_core.encodings.v2_1.fast.single_values import SingleValues
from lance_core.fast_paths import FastPath, FastPaths

COLUMN_READS = FastPaths(
    # 1 row of 14 columns: 3.0; 4 rows: 1.35; 1 row of long texts: 2.6, of vectors: 1.9.
    FastPath(SingleValues.of, SingleValues.decode),
    # All of 1,000 rows of 14 columns: 1.17; 100 rows of 200,000: 1.17, in any order: 1.4.
    FastPath(OnePage.of, OnePage.decode),
    # 2,000 values of 100 KB: 3.6; 1,000 of them in any order: 6.0.
    FastPath(LongValues.of, LongValues.decode),
    # 200 pages of 500 rows whose encodings alternate: 5.8.
    FastPath(PageClasses.of_column, PageClasses.decode),
)
"""Rows of a top-level leaf, in any order."""

FIELD_READS = FastPaths(
    # 1 row of lists of structs: 2.0.
    FastPath(SingleList.of, SingleList.decode),
    # 200 pages of 500 structs whose encodings alternate: 4.4.
    FastPath(PageClasses.of_field, PageClasses.decode),
    # 500 files of 200 rows and 14 columns: 10, and 31 if they were read before.
    FastPath(SimilarPages.of, SimilarPages.decode),
)
"""Ascending rows of any field."""
