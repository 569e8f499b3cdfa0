"""Pairs of rows with equal keys, one of the table and one of a source, for callers that join."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.target import find_keys
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.errors import InvalidInputError, SchemaMismatchError

ADDRESS, POSITION = "_rowaddr", "_position"


def key_pairs(snapshot: Snapshot, keys: pa.Table, fragment_ids: Iterable[int] | None) -> pa.Table:
    """See `LanceDataset.find_keys`."""
    if not keys.column_names:
        raise InvalidInputError("keys have no column")
    schema = snapshot.schema.to_arrow()
    for field in keys.schema:
        stored = schema.field(field.name).type if field.name in schema.names else None
        if stored != field.type:
            raise SchemaMismatchError(
                f"keys have a column {field.name!r} of type {field.type}; the table has "
                f"{'no such column' if stored is None else f'it as {stored}'}"
            )
    index = KeyIndex(keys.columns, snapshot.root.registry.kernels)
    fragments = None if fragment_ids is None else snapshot.fragments(list(fragment_ids))
    matches = find_keys(snapshot, keys.column_names, index, fragments)
    # The rows of the source by key: those of key k begin at starts[k], after the rows with a null.
    order = np.argsort(index.keys, kind="stable")
    starts = np.searchsorted(index.keys[order], np.arange(len(index) + 1))
    counts = np.diff(starts)[matches.keys]
    ends = np.cumsum(counts)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
    positions = order[np.repeat(starts[:-1][matches.keys], counts) + within]
    addresses = np.repeat(matches.addresses, counts)
    return pa.table({ADDRESS: from_numpy(addresses), POSITION: from_numpy(positions)})
