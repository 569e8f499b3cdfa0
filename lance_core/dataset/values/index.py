"""`Index` and `IndexFile`: index metadata in operations, and its stored form."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, datetime, timedelta

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices import index_metadata as stored

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass
class IndexFile:
    """A file of an index; ``path`` is relative to the folder of the index."""

    path: str
    size_bytes: int


@dataclass
class Index:
    """The metadata of an index, or of one segment of an index.

    ``fields``: ids of the indexed fields. ``fragment_ids``: ids of the indexed fragments, None if
    not recorded. ``index_details``: the type URL and the serialized message of the index type.
    """

    uuid: str
    name: str
    fields: list[int]
    dataset_version: int
    fragment_ids: Iterable[int] | None
    index_version: int
    created_at: datetime | None = None
    base_id: int | None = None
    files: list[IndexFile] | None = None
    index_details: tuple[str, bytes] | None = None
    covering_fields: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, index: stored.IndexMetadata) -> Index:
        """The public value for an index of a manifest or transaction.

        Raises `CorruptFileError` for invalid metadata.
        """
        fragments, details = index.fragments, index.index_details
        return cls(
            str(index.uuid),
            index.name,
            list(index.fields),
            index.dataset_version,
            None if fragments is None else frozenset(fragments),
            index.index_version or 0,
            None if index.created_at is None else moment(index.created_at),
            index.base_id,
            [IndexFile(file.path, file.size_bytes) for file in index.files] or None,
            None if details is None else (details.type_url, details.value),
            list(index.covering_fields),
        )

    def to_stored(self) -> stored.IndexMetadata:
        """The value that the format stores; raises `InvalidInputError` for an invalid field."""
        fragments = self.fragment_ids
        details = self.index_details
        return stored.IndexMetadata(
            uuid=to_uuid(self.uuid),
            name=self.name,
            fields=tuple(self.fields),
            dataset_version=self.dataset_version,
            fragment_bitmap=b"" if fragments is None else _bitmap(fragments),
            index_details=None if details is None else stored.IndexDetails(*details),
            index_version=self.index_version,
            created_at=None if self.created_at is None else _milliseconds(self.created_at),
            base_id=self.base_id,
            files=tuple(stored.IndexFile(f.path, f.size_bytes) for f in self.files or ()),
            covering_fields=tuple(self.covering_fields),
        )


IndexSegment = Index
"""A segment of an index, as commits take it."""


def to_uuid(text: str) -> uuids.UUID:
    """The UUID of an index, parsed from ``text``; raises `InvalidInputError` for other text."""
    try:
        return uuids.UUID(text)
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInputError(f"the id of an index must be a UUID, got {text!r}") from error


def _bitmap(fragments: Iterable[int]) -> bytes:
    try:
        return stored.encode_fragment_ids(stored.fragment_bitmap(fragments))
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(f"fragment_ids are numbers of fragments: {error}") from error


def moment(milliseconds: int) -> datetime:
    """The time ``milliseconds`` after the epoch; raises `CorruptFileError` if it is no date."""
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        raise CorruptFileError(
            f"the creation time of an index, {milliseconds} ms, is not a valid date",
            field="IndexMetadata.created_at",
        ) from None


def _milliseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InvalidInputError("created_at of an index needs a time zone")
    return (moment - _EPOCH) // _MILLISECOND
