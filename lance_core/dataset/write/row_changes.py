"""Change rows in several processes: workers write files, one process commits all of them.

A worker gets the changed rows of some fragments: their addresses, an action for each row, and the
new values. `write_row_changes` reads the other columns of the rows, and writes new fragments and
deletion files. `commit_row_changes` commits the results of all workers as one version.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.history import Version
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.values.transaction import properties_of
from lance_core.dataset.write.changed_rows import Action, ChangedRows
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.merge_insert.inserted_keys import FILTER_BYTES, KeyBits
from lance_core.dataset.write.merge_insert.plan import primary_key
from lance_core.dataset.write.merge_insert.target import by_fragment, ids_at
from lance_core.dataset.write.retry_on_conflict import ConflictRetries, retry_on_conflict
from lance_core.dataset.write.row_rewrite import move_rows, write_rows
from lance_core.errors import InvalidInputError, RetryableCommitConflictError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Delete, Operation, Update
from lance_core.table.transactions.operations.key_filter import KeyExistenceFilter


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What a worker has written for a change of rows. It can be pickled, and has a JSON form.

    ``affected_rows``: the physical offsets of the updated and deleted rows, by fragment id.
    ``inserted_keys``: a bloom filter of the new rows' primary keys; empty without any.
    """

    read_version: int
    updated_fragments: tuple[FragmentMetadata, ...]
    removed_fragment_ids: tuple[int, ...]
    new_fragments: tuple[FragmentMetadata, ...]
    affected_rows: dict[int, npt.NDArray[np.uint32]]
    num_updated_rows: int
    num_deleted_rows: int
    num_inserted_rows: int
    inserted_keys: bytes = b""

    def to_json(self) -> str:
        """The JSON text for another process; `from_json` parses it."""
        names = [field.name for field in dataclasses.fields(RowChanges)]
        rows = {
            id_: base64.b64encode(offsets.astype("<u4").tobytes()).decode()
            for id_, offsets in self.affected_rows.items()
        }
        return json.dumps(
            {
                **{name: getattr(self, name) for name in names},
                "updated_fragments": [fragment.to_json() for fragment in self.updated_fragments],
                "new_fragments": [fragment.to_json() for fragment in self.new_fragments],
                "affected_rows": rows,
                "inserted_keys": base64.b64encode(zlib.compress(self.inserted_keys)).decode(),
            }
        )

    @staticmethod
    def from_json(text: str) -> RowChanges:
        """The changes with the JSON ``text``; raises `InvalidInputError` for other text."""
        try:
            tree = json.loads(text)
            for name in ("updated_fragments", "new_fragments"):
                fragments = (
                    FragmentMetadata.from_json(json.dumps(stored)) for stored in tree[name]
                )
                tree[name] = tuple(fragments)
            tree["removed_fragment_ids"] = tuple(tree["removed_fragment_ids"])
            tree["affected_rows"] = {
                int(id_): np.frombuffer(base64.b64decode(rows, validate=True), "<u4")
                for id_, rows in tree["affected_rows"].items()
            }
            keys = base64.b64decode(tree["inserted_keys"], validate=True)
            tree["inserted_keys"] = _unpacked_filter(keys)
            return RowChanges(**tree)
        except (zlib.error, ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInputError(f"not the JSON form of changes of rows: {error}") from error


def _unpacked_filter(packed: bytes) -> bytes:
    """The bits of a key filter, or nothing; raises `ValueError` for other or cut content."""
    stream = zlib.decompressobj()
    bits = stream.decompress(packed, FILTER_BYTES + 1)
    if len(bits) not in (0, FILTER_BYTES) or not stream.eof:
        raise ValueError(f"a filter of keys must have {FILTER_BYTES} bytes, or none")
    return bits


class RowChangeCounts(TypedDict):
    """The number of rows that a change has inserted, updated and deleted."""

    num_inserted_rows: int
    num_updated_rows: int
    num_deleted_rows: int


@dataclass(frozen=True, slots=True)
class RowChangeCommit:
    """How a change of rows is committed.

    ``verb`` names the change in errors. ``predicate``: the text of the condition, for a change that
    only deletes rows; it is recorded. ``modified``: the columns with new values, None means any.
    ``rejects_added_rows``: rows that others have added in the meantime are a conflict, because they
    may change the result. If it is a function, this decides: it gets a dataset at the newer
    version, and the ids of its fragments that have added rows or new values. ``properties``:
    returns the properties of the transaction for the numbers of changed rows. ``is_committed``:
    see `LanceDataset.commit`.
    """

    verb: str = "change of rows"
    predicate: str | None = None
    modified: tuple[str, ...] | None = None
    rejects_added_rows: bool | Callable[[Any, list[int]], bool] = False
    properties: Callable[[RowChangeCounts], Mapping[str, str]] | None = None
    is_committed: Callable[[Mapping[str, str]], bool] | None = None


def write_row_changes(
    snapshot: Snapshot,
    rows: Iterable[pa.RecordBatch],
    actions: Sequence[Action],
    environment: Environment = SYSTEM,
) -> RowChanges:
    """Write the files for changes of ``rows``; see `LanceDataset.write_row_changes`."""
    check_writable(snapshot.manifest.flags)
    changed = ChangedRows(snapshot, actions)
    with discard_on_failure(snapshot.root) as files:
        new = write_rows(snapshot, files, changed.batches(rows))
        changed.check()
        moved, deleted = changed.moved, changed.deleted
        touched = by_fragment(np.concatenate([moved, deleted]))
        _check_live(snapshot, touched)
        row_ids = ids_at(snapshot, moved) if snapshot.manifest.uses_stable_row_ids else None
        operation = move_rows(
            snapshot, files, touched, new, row_ids=row_ids, environment=environment
        )
    return RowChanges(
        snapshot.version,
        _metadata(operation.updated_fragments),
        operation.removed_fragment_ids,
        _metadata(operation.new_fragments),
        touched,
        len(moved),
        len(deleted),
        changed.inserted,
        changed.keys.bitmap() if changed.inserted and changed.keys.names else b"",
    )


def _metadata(fragments: Iterable[Fragment]) -> tuple[FragmentMetadata, ...]:
    return tuple(
        FragmentMetadata.of(fragment, fragment.physical_rows or 0) for fragment in fragments
    )


def _check_live(snapshot: Snapshot, rows: dict[int, npt.NDArray[np.uint32]]) -> None:
    """Raise `InvalidInputError` for a row that does not exist."""
    for fragment_id, offsets in rows.items():
        fragment = snapshot.fragment(fragment_id)
        deleted = snapshot.deleted_offsets(fragment)
        is_deleted = deleted is not None and np.isin(offsets, deleted).any()
        if is_deleted or int(offsets[-1]) >= snapshot.physical_rows(fragment):
            raise InvalidInputError(
                f"fragment {fragment_id} has a deleted row or no row at an address to change"
            )


def change_rows(
    snapshot: Snapshot,
    work: Callable[[Snapshot], Iterable[RowChanges]],
    how: RowChangeCommit,
    retries: ConflictRetries,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, RowChangeCounts]:
    """Commit what ``work`` writes for a version; see `LanceDataset.change_rows`."""

    def attempt(version: Snapshot, options: CommitOptions) -> tuple[Snapshot, RowChangeCounts]:
        options = replace(options, age_of_files=environment.stopwatch())
        changes = []
        version.root.check_can_commit()
        with discard_on_failure(version.root) as files:
            for change in work(version):
                changes.append(change)
                files.data += [fragment.to_fragment() for fragment in change.new_fragments]
                files.deletions += [fragment.to_fragment() for fragment in change.updated_fragments]
            return _commit(version, changes, how, files, options, environment)

    return retry_on_conflict(how.verb, snapshot, attempt, retries, environment)


def _commit(
    snapshot: Snapshot,
    changes: Sequence[RowChanges],
    how: RowChangeCommit,
    files: NewFiles,
    options: CommitOptions,
    environment: Environment,
) -> tuple[Snapshot, RowChangeCounts]:
    affected = _affected_rows(snapshot, changes)
    if how.predicate is not None and files.data:
        raise InvalidInputError("a change of rows with a predicate must only delete rows")
    counts = RowChangeCounts(
        num_inserted_rows=sum(change.num_inserted_rows for change in changes),
        num_updated_rows=sum(change.num_updated_rows for change in changes),
        num_deleted_rows=sum(change.num_deleted_rows for change in changes),
    )
    if not affected and not files.data:
        return snapshot, counts
    removed = tuple(id_ for change in changes for id_ in change.removed_fragment_ids)
    operation: Operation
    if how.predicate is not None:
        operation = Delete(tuple(files.deletions), removed, how.predicate, affected_rows=affected)
    else:
        operation = Update(
            removed,
            tuple(files.deletions),
            tuple(files.data),
            fields_for_preserving_frag_bitmap=_modified(snapshot, how.modified),
            inserted_rows=_inserted_keys(snapshot, changes),
            affected_rows=affected,
        )
    if how.rejects_added_rows:
        check = _AddedRows(snapshot, how.rejects_added_rows).check
        options = replace(options, check_base=check)
    options = replace(options, is_committed=how.is_committed)
    properties = {} if how.properties is None else properties_of(None, how.properties(counts))
    transaction = new_transaction(snapshot, operation, environment, properties)
    return files.commit(snapshot, transaction, options), counts


def _affected_rows(
    snapshot: Snapshot, changes: Sequence[RowChanges]
) -> dict[int, npt.NDArray[np.uint32]]:
    """The affected rows of all workers; raises `InvalidInputError` if they do not fit together."""
    affected: dict[int, npt.NDArray[np.uint32]] = {}
    paths = [file.path for change in changes for new in change.new_fragments for file in new.files]
    if len(set(paths)) < len(paths):
        raise InvalidInputError("the changes of a worker are given twice")
    for change in changes:
        if change.read_version != snapshot.version:
            raise InvalidInputError(
                f"a worker has changed version {change.read_version}, not {snapshot.version}"
            )
        for fragment_id, offsets in change.affected_rows.items():
            if fragment_id in affected:
                raise InvalidInputError(f"two workers have changed rows of fragment {fragment_id}")
            affected[fragment_id] = offsets
    return affected


def _modified(snapshot: Snapshot, names: Sequence[str] | None) -> tuple[int, ...]:
    """Ids of the fields with new values, as `update` and merges name them."""
    schema = snapshot.schema
    if names is None:
        return tuple(schema.field_ids)
    chosen = [field for field in schema.fields if field.name in names]
    return tuple(sorted(part.id for field in chosen for part in field.walk()))


def _inserted_keys(snapshot: Snapshot, changes: Sequence[RowChanges]) -> KeyExistenceFilter | None:
    """The filter of the primary keys of all new rows; None without any."""
    bitmaps = [change.inserted_keys for change in changes if change.inserted_keys]
    if not bitmaps:
        return None
    bits = KeyBits(primary_key(snapshot.schema))
    for bitmap in bitmaps:
        bits.unite(bitmap)
    return bits.filter()


class _AddedRows:
    """The check of rows that others have added since ``snapshot``, in each attempt to commit."""

    def __init__(
        self, snapshot: Snapshot, rejects: Literal[True] | Callable[[Snapshot, list[int]], bool]
    ) -> None:
        self._snapshot = self._checked = snapshot
        self._rejects = rejects

    def check(self, base: Version) -> None:
        """Raise `RetryableCommitConflictError` if rows of ``base`` may change the result."""
        if base.file.manifest.version == self._checked.version:
            return
        newest = Snapshot(self._snapshot.root, base.file, base.location)
        before = self._checked.manifest.fragments
        added = [fragment.id for fragment in newest.manifest.fragments.new_data_since(before)]
        if added and (self._rejects is True or self._rejects(newest, added)):
            raise RetryableCommitConflictError(
                f"commit conflict: version {newest.version} has rows that others have added since "
                f"version {self._snapshot.version}, from which this change was computed; retry on "
                "the newest version"
            )
        self._checked = newest
