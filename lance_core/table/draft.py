"""The content of a version that is being built: what operations change.

An operation turns a `Draft` into another one; `lance_core.table.apply` then adds what concerns the
commit itself (time, writer, flags, names).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_core.errors import CorruptFileError, InvalidInputError, InvalidPathError
from lance_core.schema.tree import Schema
from lance_core.table.feature_flags import DELETION_FILES
from lance_core.table.fragment import Fragment
from lance_core.table.fragment_list import FragmentList
from lance_core.table.manifest import Manifest
from lance_core.table.manifest_parts import BasePath
from lance_core.table.row_ids import RowIdSequence
from lance_core.table.row_versions import RowVersions

if TYPE_CHECKING:
    from lance_core.table.manifest_file import ManifestFile

_MAX_FRAGMENT_ID = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A version before it is committed.

    ``version`` is the number it will have. ``storage_version`` names the version of its data files,
    None while no file has decided it. ``has_deletion_files`` is None if it has to be looked up: who
    replaces or drops fragments sets it so.
    ``index_section`` is a serialized ``IndexSection``. ``read_version`` is what the transaction was
    computed from. ``source`` is the version that a Restore brings back or a Clone copies, None for
    other operations.
    """

    version: int
    schema: Schema
    fragments: FragmentList = dataclasses.field(default_factory=FragmentList)
    max_fragment_id: int | None = None
    storage_version: str | None = None
    stable_row_ids: bool = False
    next_row_id: int = 0
    config: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    table_metadata: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    base_paths: tuple[BasePath, ...] = ()
    index_section: bytes | None = None
    has_deletion_files: bool | None = None
    is_new_table: bool = False
    read_version: int = 0
    source: ManifestFile | None = None

    @classmethod
    def following(cls, base: Manifest, index_section: bytes | None) -> Draft:
        """A draft with the content of ``base``."""
        return cls(
            version=base.version + 1,
            schema=base.schema,
            fragments=base.fragments,
            max_fragment_id=_max_fragment_id(base),
            storage_version=base.storage_version,
            stable_row_ids=base.uses_stable_row_ids,
            next_row_id=base.next_row_id,
            config=base.config,
            table_metadata=base.table_metadata,
            base_paths=base.base_paths,
            index_section=index_section,
            has_deletion_files=base.flags.has(DELETION_FILES),
        )

    def with_new_fragments(self, kept: FragmentList, new: Sequence[Fragment]) -> Draft:
        """A draft of the fragments ``kept`` followed by ``new`` ones, whose ids are assigned here.

        A fragment with id 0 and without deleted rows is new; others keep their id, which must be
        free. Raises `InvalidInputError` for fragments that cannot be part of this table.
        """
        storage_version = self.storage_version
        next_id = self._next_fragment_id()
        next_row_id = self.next_row_id
        placed: list[Fragment] = []
        for given in new:
            fragment = given
            if fragment.id == 0 and fragment.deletion_file is None:
                fragment = dataclasses.replace(fragment, id=next_id)
                next_id += 1
            storage_version = _checked_version(fragment, storage_version)
            if self.stable_row_ids:
                fragment, used = _with_row_ids(fragment, next_row_id, self.version)
                next_row_id += used
            placed.append(fragment)
        given_ids = {fragment.id for fragment in placed}
        if len(given_ids) < len(placed):
            raise InvalidInputError("two fragments have the same id")
        if any(fragment.id < self._next_fragment_id() for fragment in placed):
            _refuse_used_ids(given_ids, kept)
        highest = max(given_ids, default=-1)
        if highest > _MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {_MAX_FRAGMENT_ID}")
        before = self._next_fragment_id() - 1
        return dataclasses.replace(
            self,
            fragments=kept + FragmentList.of(placed),
            max_fragment_id=max(highest, before) if max(highest, before) >= 0 else None,
            storage_version=storage_version,
            next_row_id=next_row_id,
        )

    def max_fragment_id_after(self, count: int) -> int | None:
        """The highest fragment id in use once ``count`` more are taken, None if there is none.

        Raises `InvalidInputError` if there are not so many left.
        """
        highest = self._next_fragment_id() - 1 + count
        if highest > _MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {_MAX_FRAGMENT_ID}")
        return highest if highest >= 0 else None

    def _next_fragment_id(self) -> int:
        """The lowest id that no fragment of any version has had."""
        return 0 if self.max_fragment_id is None else self.max_fragment_id + 1


def _max_fragment_id(base: Manifest) -> int | None:
    """The highest fragment id ever used; old tables do not record it, their fragments tell it."""
    if base.max_fragment_id is None:
        return max(base.fragments.counts.ids, default=None)
    newest = base.fragments[-1].id if base.fragments else 0
    return max(base.max_fragment_id, newest)


def _checked_version(fragment: Fragment, expected: str | None) -> str | None:
    """The file version that ``fragment`` confirms; raises if its files cannot be committed."""
    if fragment.overlays:
        raise InvalidInputError(f"fragment {fragment.id} has data overlays")
    for file in fragment.files:
        try:
            file.store_path()
        except CorruptFileError as error:
            raise InvalidPathError(error.message) from None
        try:
            file.columns()
        except CorruptFileError as error:
            raise InvalidInputError(error.message) from None
        if expected is not None and file.file_version != expected:
            raise InvalidInputError(
                f"data file {file.path!r} has version {file.file_version}, "
                f"the table's files have version {expected}"
            )
        expected = file.file_version
    return expected


def _refuse_used_ids(ids: Collection[int], kept: FragmentList) -> None:
    used = set(ids).intersection(kept.counts.ids)
    if used:
        raise InvalidInputError(f"fragment id {min(used)} is in use")


def _with_row_ids(fragment: Fragment, next_row_id: int, version: int) -> tuple[Fragment, int]:
    """``fragment`` with stable row ids, and how many of them are new."""
    rows = fragment.physical_rows
    if rows is None:
        raise InvalidInputError(f"fragment {fragment.id} does not say how many rows it has")
    if next_row_id + rows >= 1 << 64:
        raise InvalidInputError("there are no row ids left")
    if fragment.row_ids is not None:
        if not isinstance(fragment.row_ids, bytes):
            raise InvalidInputError(f"fragment {fragment.id} keeps its row ids in another file")
        try:
            RowIdSequence.from_bytes(fragment.row_ids, rows)
        except CorruptFileError as error:
            raise InvalidInputError(f"row ids of fragment {fragment.id}: {error}") from None
        return fragment, 0
    versions = RowVersions.uniform(rows, version).to_bytes()
    with_ids = dataclasses.replace(
        fragment,
        row_ids=RowIdSequence.from_range(next_row_id, rows).to_bytes(),
        last_updated_at_versions=versions,
        created_at_versions=versions,
    )
    return with_ids, rows
