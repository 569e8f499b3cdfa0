"""Copied pages that become one page, because only values of equal size are in them.

Every page of a column costs readers a fixed time. Pages whose bytes follow each other without
padding need not be decoded to become one page of the usual size: only their metadata change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lance_core.datafile.binary_copy.source_pages import SourcePages
from lance_core.datafile.column_metadata import ColumnParser
from lance_core.datafile.footer import ALIGNMENT
from lance_core.datafile.varints import Ints
from lance_core.encodings.flat_pages import flat_row_bytes, with_num_rows
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.version import FileVersion

MIN_BYTES = 128 << 10
"""Minimum bytes of a page to merge; more calls of the store for smaller ones would cost more."""

MAX_BYTES = 8 << 20
"""Maximum bytes of a merged page."""


class MergedPages(NamedTuple):
    """The pages at positions ``first`` to ``stop`` of a list: ``num_rows`` and their encoding."""

    first: int
    stop: int
    num_rows: int
    encoding: bytes


class _Form(NamedTuple):
    """A page with values of equal size: what pages that merge have in common, and its rows."""

    key: bytes
    row_bytes: int
    num_rows: int


class _Run(NamedTuple):
    """Pages that merge, with ``size`` bytes of the ``form`` of each."""

    first: int
    stop: int
    size: int
    form: _Form


def merged_pages(
    table: SourcePages, pages: Ints, lists: Sequence[int], version: FileVersion
) -> list[MergedPages]:
    """The groups of two or more of ``pages`` that become one page each.

    ``lists``: the positions at which the pages of another column or other rows begin.
    """
    sizes = table.byte_ends[pages + 1] - table.byte_ends[pages]
    is_single = table.first_buffer[pages + 1] - table.first_buffer[pages] == 1
    forms = _Forms(table, version)
    starts = frozenset(lists)
    runs: list[_Run] = []
    for place in np.flatnonzero(is_single & (sizes >= MIN_BYTES)).tolist():
        size, form = int(sizes[place]), forms.of_page(int(pages[place]))
        if form is None or form.num_rows * form.row_bytes != size:
            continue
        last = runs[-1] if runs and place not in starts else None
        if last is None or not _continues(last, place, size, form):
            runs.append(_Run(place, place + 1, size, form))
        else:
            runs[-1] = _Run(last.first, place + 1, last.size + size, form)
    return [
        MergedPages(run.first, run.stop, rows, forms.encoding(int(pages[run.first]), rows))
        for run in runs
        if run.stop - run.first > 1
        for rows in [run.size // run.form.row_bytes]
    ]


def _continues(run: _Run, place: int, size: int, form: _Form) -> bool:
    """True if the page at ``place`` merges with the pages before it."""
    is_next = run.stop == place and run.size % ALIGNMENT == 0
    return is_next and run.form.key == form.key and run.size + size <= MAX_BYTES


class _Forms:
    """Parses the encodings of pages, of which many are equal."""

    def __init__(self, table: SourcePages, version: FileVersion) -> None:
        self._table = table
        self._parser = ColumnParser(version, 0)
        self._known: dict[tuple[bytes, int], _Form | None] = {}

    def of_page(self, page: int) -> _Form | None:
        """None for a page that does not merge with others."""
        rows = int(self._table.rows[page])
        raw = self._raw(page)
        if (raw, rows) not in self._known:
            self._known[raw, rows] = self._form(raw, rows)
        return self._known[raw, rows]

    def encoding(self, page: int, num_rows: int) -> bytes:
        """The encoding of a page like ``page`` with so many rows."""
        encoding = self._parser.page_encoding(self._raw(page))
        assert not isinstance(encoding, ForeignEncoding)
        return with_num_rows(encoding, num_rows)

    def _form(self, raw: bytes, rows: int) -> _Form | None:
        encoding = self._parser.page_encoding(raw)
        row_bytes = flat_row_bytes(encoding, rows)
        if row_bytes is None or isinstance(encoding, ForeignEncoding):
            return None
        return _Form(with_num_rows(encoding, 0), row_bytes, rows)

    def _raw(self, page: int) -> bytes:
        table = self._table
        return table.raw[int(table.encoding_starts[page]) : int(table.middle_stops[page])]
