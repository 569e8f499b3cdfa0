"""The fast paths of reads of 2.1 and 2.2 files, in the order in which they are tried."""

from __future__ import annotations

from lance_core.encodings.v2_1.fast.one_page import OnePage
from lance_core.encodings.v2_1.fast.page_classes import PageClasses
from lance_core.encodings.v2_1.fast.page_runs import SimilarPages
from lance_core.encodings.v2_1.fast.single_lists import SingleList
from lance_core.encodings.v2_1.fast.single_values import SingleValues
from lance_core.fast_paths import FastPath, FastPaths

COLUMN_READS = FastPaths(
    FastPath(SingleValues.of, SingleValues.decode),
    FastPath(OnePage.of, OnePage.decode),
    FastPath(PageClasses.of_column, PageClasses.decode),
)
"""Rows of a top-level leaf, in any order."""

FIELD_READS = FastPaths(
    FastPath(SingleList.of, SingleList.decode),
    FastPath(PageClasses.of_field, PageClasses.decode),
    FastPath(SimilarPages.of, SimilarPages.decode),
)
"""Ascending rows of any field."""
