"""The rows that a worker writes for a change: new values of some columns, old ones of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.columns.projection import ROW_ADDRESS
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.inserted_keys import KeyBits
from lance_core.dataset.write.merge_insert.plan import primary_key
from lance_core.dataset.write.merge_insert.target import Addresses, OldRows
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.error_texts.suggestions import hint
from lance_core.errors import InvalidInputError, MergeError
from lance_core.schema import Field
from lance_core.schema.align import to_storage
from lance_core.schema.blobs.fields import given_to_files
from lance_core.schema.logical_type import without_views

ACTION = "_action"
"""The column with the number of each row's action."""

Action = frozenset[str] | None
"""The columns that get new values; the others keep theirs. None deletes the row."""

PIECE_ROWS = 1 << 16
PIECE_BYTES = 16 << 20
"""Rows that are completed and written together: maximum number, and bytes of their new values."""

Int64s = npt.NDArray[np.int64]


class ChangedRows:
    """The changes of a worker, and what they have done so far.

    ``moved``: addresses of updated rows, in the order of writing. ``deleted``: addresses of deleted
    rows. ``inserted``: the number of new rows. ``keys``: their values of the table's primary key.
    """

    def __init__(self, snapshot: Snapshot, actions: Sequence[Action]) -> None:
        """Raises `InvalidInputError` for an action on a column that the table does not have."""
        self._snapshot = snapshot
        self._actions = actions
        self._fields = snapshot.schema.fields
        self._old_rows: dict[tuple[str, ...], OldRows] = {}
        self._moved: list[Addresses] = [np.empty(0, np.uint64)]
        self._deleted: list[Addresses] = [np.empty(0, np.uint64)]
        self.inserted = 0
        self.keys = KeyBits(primary_key(snapshot.schema))
        names = [field.name for field in self._fields]
        for name in {name for action in actions if action is not None for name in action}:
            if name not in names:
                raise InvalidInputError(f"the table has no column {name!r}{hint(name, names)}")

    @property
    def moved(self) -> Addresses:
        return np.concatenate(self._moved)

    @property
    def deleted(self) -> Addresses:
        """Distinct addresses: deleting a row twice is the same as deleting it once."""
        return np.unique(np.concatenate(self._deleted))

    def check(self) -> None:
        """Raise `MergeError` if a row is updated twice, or updated and deleted."""
        moved = np.sort(self.moved)
        repeated = moved[1:][moved[1:] == moved[:-1]]
        twice = np.concatenate([repeated, np.intersect1d(moved, self.deleted)])
        if len(twice):
            fragment, row = divmod(int(twice[0]), 1 << 32)
            raise MergeError(
                f"several rows of the source change the same row of the table, row {row} of "
                f"fragment {fragment}: it is ambiguous which of them is used"
            )

    def batches(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write, with all columns of the table: updated rows first, then new ones."""
        for piece in _pieces(rows):
            actions = self._numbers(piece)
            address = _integers(piece, ROW_ADDRESS, pa.uint64())
            is_new = address.is_null().to_numpy(zero_copy_only=False)
            deletes = np.array([action is None for action in self._actions], np.bool_)[actions]
            if (deletes & is_new).any():
                raise InvalidInputError("a row to delete has no address")
            addresses = to_numpy(address.fill_null(0))
            self._deleted.append(addresses[deletes])
            updates, inserts = np.flatnonzero(~deletes & ~is_new), np.flatnonzero(is_new)
            if len(updates):
                if self.inserted or (len(inserts) and inserts[0] < updates[-1]):
                    raise InvalidInputError("new rows must come after the updated ones")
                yield from self._updated(piece, updates, actions, addresses)
            if len(inserts):
                self.inserted += len(inserts)
                new = self._complete(_some(piece, inserts), actions[inserts], None)
                if self.keys.names:
                    self.keys.add(pa.Table.from_batches([new]).select(self.keys.names))
                yield new

    def _numbers(self, piece: pa.Table) -> Int64s:
        numbers = _integers(piece, ACTION, pa.int64())
        if numbers.null_count:
            raise InvalidInputError(f"column {ACTION!r} must not be null")
        values: Int64s = numbers.to_numpy(zero_copy_only=False)
        if len(values) and (values.min() < 0 or values.max() >= len(self._actions)):
            raise InvalidInputError(f"column {ACTION!r} must be from 0 to {len(self._actions) - 1}")
        return values

    def _updated(
        self, piece: pa.Table, updates: Int64s, actions: Int64s, addresses: Addresses
    ) -> Iterator[pa.RecordBatch]:
        chosen, where = actions[updates], addresses[updates]
        self._moved.append(where)
        unchanged = tuple(
            field.name
            for field in self._fields
            if not all(field.name in self._assigned(number) for number in np.unique(chosen))
        )
        if not unchanged:
            yield self._complete(_some(piece, updates), chosen, None)
            return
        reader = self._old_rows.get(unchanged)
        if reader is None:
            reader = self._old_rows[unchanged] = OldRows(self._snapshot, unchanged)
        for part, old in reader.pieces(where):
            yield self._complete(_some(piece, updates[part]), chosen[part], old)

    def _assigned(self, number: int) -> frozenset[str]:
        return self._actions[number] or frozenset()

    def _complete(self, new: pa.Table, actions: Int64s, old: pa.Table | None) -> pa.RecordBatch:
        """The rows with all columns: from ``new`` if the action assigns them, else from ``old``."""
        arrays = []
        numbers = np.unique(actions)
        for field in self._fields:
            assigning = [n for n in numbers if field.name in self._assigned(n)]
            if len(assigning) == len(numbers):
                arrays.append(_column(new, field))
            elif not assigning:
                arrays.append(_old(old, field, len(actions)))
            else:
                first, second = _column(new, field), _old(old, field, len(actions))
                is_new = np.isin(actions, assigning)
                arrays.append(_choose(is_new, first, second, field))
        names = [field.name for field in self._fields]
        return pa.RecordBatch.from_arrays(arrays, names=names)


def _pieces(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """``rows`` in pieces of about `PIECE_ROWS` or `PIECE_BYTES`."""
    batches: list[pa.RecordBatch] = []
    count = size = 0
    for batch in rows:
        if batches and batch.schema != batches[0].schema:
            yield pa.Table.from_batches(batches)
            batches, count, size = [], 0, 0
        batches.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= PIECE_ROWS or size >= PIECE_BYTES:
            yield pa.Table.from_batches(batches)
            batches, count, size = [], 0, 0
    if count:
        yield pa.Table.from_batches(batches)


def _integers(piece: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    """The column ``name`` as ``type_``; raises `InvalidInputError` if it does not fit."""
    if piece.column_names.count(name) != 1:
        raise InvalidInputError(f"the changes of rows must have one column {name!r}")
    array = combine_chunks(piece.column(name))
    if not (pa.types.is_integer(array.type) or pa.types.is_null(array.type)):
        raise InvalidInputError(f"column {name!r} must have integers, got {array.type}")
    try:
        return array.cast(type_)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"column {name!r}: {error}") from None


def _some(piece: pa.Table, numbers: Int64s) -> pa.Table:
    if len(numbers) == piece.num_rows:
        return piece
    # Arrow takes no values of views.
    plain = pa.schema([field.with_type(without_views(field.type)) for field in piece.schema])
    return take_rows(piece if plain == piece.schema else piece.cast(plain), from_numpy(numbers))


def _column(new: pa.Table, field: Field) -> pa.Array:
    if new.column_names.count(field.name) != 1:
        raise InvalidInputError(f"there must be one column {field.name!r} with new values")
    return combine_chunks(new.column(field.name))


def _old(old: pa.Table | None, field: Field, rows: int) -> pa.Array:
    if old is None:
        return pa.nulls(rows, field.storage_type)
    return combine_chunks(old.column(field.name))


def _choose(is_new: npt.NDArray[np.bool_], new: pa.Array, old: pa.Array, field: Field) -> pa.Array:
    """``new`` where ``is_new``, else ``old``, as files store ``field``.

    Raises the errors of `to_storage`.
    """
    stored = given_to_files(field)
    both = pa.concat_arrays([to_storage(new, stored), to_storage(old, stored)])
    rows = np.arange(len(is_new))
    return both.take(from_numpy(np.where(is_new, rows, rows + len(is_new))))
