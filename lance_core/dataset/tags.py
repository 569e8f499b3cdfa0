"""`Tags`: names for versions of a table on any branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from lance_core.commits import refs
from lance_core.commits.cleanup.pins import is_pin
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.open_table import Reference
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.table.refs import Tag

if TYPE_CHECKING:
    from lance_core.dataset.values import listings

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

R = TypeVar("R")


@short_tracebacks
class Tags:
    """The tags of a table. A cleanup keeps the version of each tag until the tag is deleted."""

    def __init__(self, dataset: HasSnapshot) -> None:
        self._dataset = dataset

    def list(self) -> dict[str, listings.Tag]:
        """Each tag by name, with its branch (None: main), version, manifest bytes and metadata."""
        return {name: _described(tag) for name, tag in self._every().items()}

    def list_ordered(self, order: str | None = None) -> Sequence[tuple[str, listings.Tag]]:
        """The tags by version, highest first unless ``order`` is "asc"; equal versions by name."""
        ordered = by_number(self._every(), lambda tag: tag.version, order)
        return [(name, _described(tag)) for name, tag in ordered]

    def get_version(self, tag: str) -> int:
        """The version number of a tag; raises `RefNotFoundError` if the tag does not exist."""
        return refs.get_tag(self._store, tag).version

    def create(self, tag: str, reference: Reference = None) -> None:
        """Create a tag for a version.

        ``reference``: a version number on the open branch, the name of another tag, or a tuple of a
        branch (None or "main" for the main branch) and a number (None for the newest). None is the
        open version. Raises `RefConflictError` if the tag exists, `InvalidRefError` for an invalid
        name, `DatasetNotFoundError` if the version does not exist, and `OutcomeUnknownError` if the
        tag may be written but the store failed to confirm its version.
        """
        snapshot = self._dataset.snapshot
        target = target_of(snapshot, reference)
        made = refs.create_tag(self._store, tag, target)
        try:
            _confirm(snapshot, tag, made)
        except DatasetNotFoundError:
            refs.delete_tag(self._store, tag)
            raise

    def update(self, tag: str, reference: Reference = None) -> None:
        """Move a tag to another version; see `create` for ``reference`` and other errors.

        Raises `RefNotFoundError` if the tag does not exist.
        """
        snapshot = self._dataset.snapshot
        before = refs.get_tag(self._store, tag)
        made = refs.update_tag(self._store, tag, target_of(snapshot, reference))
        try:
            _confirm(snapshot, tag, made)
        except DatasetNotFoundError:
            former = refs.RefTarget(before.version, before.branch, before.manifest_size)
            refs.update_tag(self._store, tag, former)
            raise

    def replace_metadata(self, tag: str, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of a tag; raises `RefNotFoundError` if it does not exist."""
        refs.replace_tag_metadata(self._store, tag, metadata)

    def delete(self, tag: str) -> None:
        """Remove a tag, not its version; raises `RefNotFoundError` if it does not exist."""
        refs.delete_tag(self._store, tag)

    def _every(self) -> dict[str, Tag]:
        every = refs.list_tags(self._store)
        return {name: tag for name, tag in every.items() if not is_pin(name)}

    @property
    def _store(self) -> ObjectStore:
        return open_table.table_of(self._dataset.snapshot.root).store


def _confirm(snapshot: Snapshot, name: str, tag: Tag) -> None:
    """Check that no cleanup removed the version before the tag was visible.

    Raises `DatasetNotFoundError` if the version does not exist, `OutcomeUnknownError` if the store
    cannot tell.
    """
    try:
        target_of(snapshot, (tag.branch, tag.version))
    except StoreError as error:
        raise OutcomeUnknownError(
            f"tag {name} was written, but it is unknown whether version {tag.version} still "
            f"exists: {error}"
        ) from error


def by_number(
    every: Mapping[str, R], number: Callable[[R], int], order: str | None
) -> Sequence[tuple[str, R]]:
    """The refs sorted by ``number``, descending unless ``order`` is "asc"; equal ones by name."""
    if order not in (None, "asc", "desc"):
        raise InvalidInputError(f"Invalid sort order {order!r}. Valid values are: asc, desc")
    sign = 1 if order == "asc" else -1
    return sorted(every.items(), key=lambda item: (sign * number(item[1]), item[0]))


def target_of(snapshot: Snapshot, reference: Reference) -> refs.RefTarget:
    """The version that ``reference`` names for a dataset with ``snapshot`` open.

    Raises `DatasetNotFoundError` or `RefNotFoundError` if it does not exist.
    """
    if reference is not None:
        snapshot = open_table.open_version(*open_table.resolve(snapshot.root, reference))
    location = open_table.locate(snapshot.root, snapshot.version)
    size = location.size
    if size is None:
        size = snapshot.root.store.head(location.path).size
    return refs.RefTarget(snapshot.version, open_table.branch_of(snapshot), size)


def _described(tag: Tag) -> listings.Tag:
    return {
        "branch": tag.branch,
        "version": tag.version,
        "created_at": _moment(tag.created_at_ns),
        "updated_at": _moment(tag.updated_at_ns),
        "manifest_size": tag.manifest_size,
        "metadata": dict(tag.metadata),
    }


def _moment(time_ns: int | None) -> datetime | None:
    if time_ns is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=time_ns // 1000)
    except OverflowError:
        raise CorruptFileError(f"{time_ns} ns is not a date", field="createdAt") from None
