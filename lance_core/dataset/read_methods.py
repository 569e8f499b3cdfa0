"""The part of `LanceDataset` that reads: scans, takes, counts, fragments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.dataset import take as taking
from lance_core.dataset.fragment import LanceFragment
from lance_core.dataset.opened import Opened
from lance_core.dataset.projection import Columns
from lance_core.dataset.scanner import LanceScanner, options_of, split_options
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.compute as pc


class ReadMethods(Opened):
    """Reads the open version."""

    def scanner(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        limit: int | None = None,
        offset: int | None = None,
        nearest: Any = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> LanceScanner:
        """Set up a scan.

        ``columns``: names (``"a"``, nested ``"s.x"``, meta columns ``_rowid``, ``_rowaddr``,
        ``_rowoffset``), or a mapping from names to SQL expressions; all columns if None.
        ``filter``: SQL or a pyarrow expression; ``limit`` and ``offset`` count rows that pass it.
        ``batch_size``: the most rows in a batch. Further options: ``with_row_id``,
        ``with_row_address``, ``fragments``, ``row_ranges``, ``blob_handling``, and pylance's hints,
        which change nothing here.

        Raises `InvalidInputError`, and `UnsupportedFeatureError` for searches and orderings.
        """
        arguments = {
            "columns": columns,
            "filter": filter,
            "limit": limit,
            "offset": offset,
            "nearest": nearest,
            "batch_size": batch_size,
            **options,
        }
        return LanceScanner(self._snapshot, options_of(arguments, self._scan_defaults))

    def to_table(self, columns: Columns = None, filter: Any = None, **options: Any) -> pa.Table:
        """Read rows as a table; options as of `scanner`."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(
        self, columns: Columns = None, filter: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as a stream of batches; options as of `scanner`."""
        return self.scanner(columns, filter, **options).to_batches()

    def to_pandas(
        self, columns: Columns = None, filter: Any = None, **options: Any
    ) -> pd.DataFrame:
        """Read rows as a data frame; options as of `scanner` and `pyarrow.Table.to_pandas`."""
        of_scan, of_pandas = split_options(options)
        return self.scanner(columns, filter, **of_scan).to_pandas(**of_pandas)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as an Arrow C stream, for any library that reads one."""
        return self.scanner().__arrow_c_stream__(requested_schema)

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """The first rows; options as of `scanner`."""
        return self.scanner(**{**options, "limit": num_rows}).to_table()

    def slice(self, start: int, end: int, columns: Columns = None) -> pa.Table:
        """Rows from position ``start`` (inclusive) to ``end`` (exclusive)."""
        if start < 0:
            raise InvalidInputError(f"start must be non-negative, got {start}")
        if end < start:
            raise InvalidInputError(f"end ({end}) must be >= start ({start})")
        return self.scanner(columns, offset=start, limit=end - start).to_table()

    def take(self, indices: taking.Indices, columns: Columns = None) -> pa.Table:
        """Rows by position, in the order of ``indices``.

        ``columns`` as of `scanner`, but a nested name such as ``"s.x"`` returns the struct ``s``
        with only that member.
        """
        projection = taking.columns_of(self._snapshot, columns)
        return taking.take(self._snapshot, indices, projection)

    def sample(
        self, num_rows: int, columns: Columns = None, randomize_order: bool = True
    ) -> pa.Table:
        """Distinct random rows."""
        count = self.count_rows()
        if not 0 <= num_rows <= count:
            raise InvalidInputError(f"cannot sample {num_rows} of {count} rows")
        indices = random.sample(range(count), num_rows)
        return self.take(indices if randomize_order else sorted(indices), columns)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Number of rows that pass ``filter``; without one this reads only the manifest."""
        if filter is None and not options:
            return self._snapshot.num_rows
        return self.scanner(columns=[], filter=filter, **options).count_rows()

    def get_fragments(self, filter: Any = None) -> list[LanceFragment]:
        """The fragments, in the order of a scan."""
        if filter is not None:
            raise InvalidInputError("get_fragments() does not support filter yet")
        return [LanceFragment(self, f.id) for f in self._snapshot.manifest.fragments]

    def fragment_ids(self) -> frozenset[int]:
        """Ids of the fragments; reads only the manifest."""
        return frozenset(self._snapshot.manifest.fragments.counts.ids)

    def get_fragment(self, fragment_id: int) -> LanceFragment | None:
        """The fragment with this id, None if there is none."""
        if fragment_id not in self._snapshot.fragment_positions:
            return None
        return LanceFragment(self, fragment_id)
