"""Write the file of an index with a bitmap for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import (
    Batches,
    IndexFileWriter,
    IndexOutput,
    MemoryShares,
    RowNumbers,
    Run,
    merge_runs,
)
from lance_core_indices.bitmaps.grouping import Grouping, KeyedBlobs, plain_type
from lance_core_indices.bitmaps.merging import MergeSource, merge_blobs

FILE_NAME = "bitmap_page_lookup.lance"
KEYS, BITMAPS = "keys", "bitmaps"
STATISTICS_KEY = "lance:index_stats"

MAX_COLLECTED_ROWS = 6 << 20
MAX_COLLECTED_BYTES = 96 << 20
# Limits on the values that are grouped in memory; their groups are then written to a local file.

_SHARES = MemoryShares(256 << 20)


def sorted_groups(
    type_: pa.DataType, batches: Iterable[tuple[pa.Array, RowNumbers]], output: IndexOutput
) -> Iterator[KeyedBlobs]:
    """The distinct values of ``batches``, ascending, with their rows."""
    grouping = Grouping()
    runs: list[Run] = []
    schema = pa.schema([(KEYS, plain_type(type_)), (BITMAPS, pa.binary())])

    def spill() -> None:
        path = output.scratch() / f"groups-{len(runs)}.arrow"
        runs.append(Run.written(path, _batches(schema, grouping.groups()), _SHARES.block))

    for values, rows in batches:
        grouping.add(values, rows)
        if grouping.num_values >= MAX_COLLECTED_ROWS or grouping.nbytes >= MAX_COLLECTED_BYTES:
            spill()
    if not runs:
        return grouping.groups()
    if grouping.num_values:
        spill()

    def merged(batches_of_runs: Sequence[Batches]) -> Batches:
        return _batches(schema, merge_blobs([MergeSource(_blocks(run)) for run in batches_of_runs]))

    return _blocks(merge_runs(runs, merged, output.scratch, _SHARES))


def _batches(schema: pa.Schema, groups: Iterator[KeyedBlobs]) -> Batches:
    return (pa.record_batch(list(block), schema=schema) for block in groups)


def _blocks(batches: Batches) -> Iterator[KeyedBlobs]:
    return (KeyedBlobs(batch.column(0), batch.column(1)) for batch in batches)


def write_groups(
    output: IndexOutput,
    type_: pa.DataType,
    groups: Iterator[KeyedBlobs],
    finish: Callable[[IndexFileWriter], None] | None = None,
) -> None:
    """Write ``groups`` to the file of the index; ``finish`` is called before the file is closed."""
    # The keys are nullable in any column: the layout has no other form.
    schema = pa.schema([pa.field(KEYS, type_), pa.field(BITMAPS, pa.binary())])
    count = 0
    with output.create(FILE_NAME, schema) as writer:
        for keys, blobs in groups:
            stored = keys.dictionary_encode().cast(type_) if keys.type != type_ else keys
            writer.write(pa.record_batch([stored, blobs], schema=schema))
            count += len(keys)
        writer.add_metadata(STATISTICS_KEY, f'{{"num_bitmaps":{count}}}')
        if finish is not None:
            finish(writer)


def check_no_parameters(index: str, parameters: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` if there are parameters."""
    for name in parameters:
        raise InvalidInputError(f"a {index} index has no parameter {name!r}; it has none")
