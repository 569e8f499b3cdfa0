"""The pages of columns that have one page each, parsed for many columns at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.datafile.page_messages import SLACK, PageMessages, single_pages
from lance_core.encodings.page_arrays import PageArrays
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.datafile.column_metadata import PageEncoding
    from lance_core.datafile.metadata import Columns
    from lance_core.datafile.varints import Ints


class ColumnPages(NamedTuple):
    """The only page of each column number ``numbers[i]``, which is page i of ``pages``.

    ``encoding`` is that of all columns. Buffers are inside of the data of the file.
    """

    numbers: Ints
    pages: PageArrays
    encoding: PageEncoding


def column_pages(columns: Columns, numbers: Ints) -> ColumnPages | None:
    """The pages of those of the columns ``numbers`` that have one page.

    Columns with buffers or an encoding of their own, and invalid ones, are left out. None if all
    columns must be parsed one by one, which raises an error for an invalid one.
    """
    try:
        return _column_pages(columns, numbers)
    except (CorruptFileError, UnsupportedFeatureError):
        return None


def _column_pages(columns: Columns, numbers: Ints) -> ColumnPages | None:
    raw, position = columns.raw_metadata + SLACK, columns.position
    table = np.frombuffer(columns.raw_table, "<u8").view(np.int64).reshape(-1, 2)[numbers]
    begins, sizes = table[:, 0] - position, table[:, 1]
    most = len(columns.raw_metadata)
    is_inside = (begins >= 0) & (sizes >= 0) & (begins <= most) & (sizes <= most - begins)
    numbers, begins = numbers[is_inside], begins[is_inside]
    ends = begins + sizes[is_inside]
    data = np.frombuffer(raw, np.uint8)
    single = single_pages(data, begins, ends)
    chosen = single.is_single
    if not chosen.any():
        return None
    messages = PageMessages(data, single.starts[chosen], ends[chosen])
    stops = messages.offsets + messages.sizes
    if ((stops > position) | (stops < messages.offsets)).any():
        return None
    kinds: dict[bytes, int] = {}
    edges = zip(messages.encoding_starts.tolist(), messages.middle_stops.tolist(), strict=True)
    of_page = [kinds.setdefault(raw[start:stop], len(kinds)) for start, stop in edges]
    parser = columns.parser
    pages = PageArrays(
        [parser.page_encoding(encoding) for encoding in kinds],
        np.array(of_page, np.int64),
        messages.rows,
        messages.first_buffer,
        messages.offsets,
        stops,
    )
    return ColumnPages(numbers[chosen], pages, parser.column_encoding(single.encoding))
