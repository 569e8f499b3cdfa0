"""The content of a version before its commit.

An operation maps a `Draft` to a new `Draft`; `lance_core.table.transactions.apply` then adds the
properties of the commit itself (time, writer, flags, names).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.errors import CorruptFileError, InvalidInputError, InvalidPathError
from lance_core.imports.pauses import pausing_for
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.tree import Schema
from lance_core.table.fragments.fragment import MAX_FRAGMENT_ID, Fragment, check_fragment_id
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.indices.index_coverage import retained
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    parse_index_section,
    serialize_index_section,
)
from lance_core.table.manifest.feature_flags import (
    DELETION_FILES,
    MIXED_FILE_VERSIONS,
    NO_FLAGS,
    FeatureFlags,
)
from lance_core.table.manifest.manifest import NOTHING_CARRIED, CarriedFields, Manifest
from lance_core.table.manifest_parts import BasePath
from lance_core.table.row_ids.row_lineage import with_row_ids
from lance_core.table.storage_version import may_mix

if TYPE_CHECKING:
    from lance_core.table.manifest.file import ManifestFile


@dataclass(frozen=True, slots=True)
class Draft:
    """The content of a version that is not committed yet.

    ``version`` is its future number. ``storage_version`` is the version of its data files, None
    until the first file determines it; ``mixed_file_versions`` allows files of other versions too.
    ``has_deletion_files`` is None if it must be computed from the fragments; operations that
    replace or remove fragments set it to None.

    ``index_section`` is a serialized ``IndexSection``. ``read_version`` is the version that the
    transaction was computed from. ``source`` is the version that a Restore restores or a Clone
    copies, None for other operations. ``flags`` are the flags of the version that the content comes
    from, ``carried`` its fields that are copied without interpretation.
    """

    version: int
    schema: Schema
    fragments: FragmentList = dataclasses.field(default_factory=FragmentList)
    max_fragment_id: int | None = None
    storage_version: str | None = None
    mixed_file_versions: bool = False
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
    branch: str | None = None
    flags: FeatureFlags = NO_FLAGS
    carried: CarriedFields = NOTHING_CARRIED

    @classmethod
    def following(cls, base: Manifest, index_section: bytes | None) -> Draft:
        """A draft with the content of ``base`` and the next version number."""
        return cls(
            version=base.version + 1,
            schema=base.schema,
            fragments=base.fragments,
            max_fragment_id=max_fragment_id(base),
            storage_version=base.storage_version,
            mixed_file_versions=base.flags.has(MIXED_FILE_VERSIONS),
            stable_row_ids=base.uses_stable_row_ids,
            next_row_id=base.next_row_id,
            config=base.config,
            table_metadata=base.table_metadata,
            base_paths=base.base_paths,
            index_section=index_section,
            has_deletion_files=base.flags.has(DELETION_FILES),
            branch=base.branch,
            flags=base.flags,
            carried=base.carried,
        )

    @property
    def indices(self) -> tuple[IndexMetadata, ...]:
        """The indices of `index_section`. Raises `CorruptFileError` if it is invalid."""
        return parse_index_section(self.index_section)

    def with_indices(self, indices: tuple[IndexMetadata, ...]) -> Draft:
        """A draft with these indices; equal indices leave the bytes of the section unchanged."""
        if indices == self.indices:
            return self
        return replace(self, index_section=serialize_index_section(indices))

    def with_retained_indices(self) -> Draft:
        """A draft without the indices that `retained` removes."""
        if self.index_section is None:
            return self
        return self.with_indices(retained(self.indices, self.schema, self.fragments.ids))

    def with_new_fragments(
        self, existing: FragmentList, new: Sequence[Fragment], fill_row_ids: bool = False
    ) -> Draft:
        """A draft with the fragments ``existing``, followed by ``new`` with assigned ids.

        A fragment with id 0 and no deletion file gets a new id; any other keeps its id, which must
        be unused. In a table with stable row ids, a fragment has ids for all its rows or for none;
        with ``fill_row_ids`` it may also have ids for its first rows only. Raises
        `InvalidInputError` for fragments that cannot be part of this table.
        """
        with pausing_for(len(new)):
            return self._with_new(existing, new, fill_row_ids)

    def _with_new(
        self, existing: FragmentList, new: Sequence[Fragment], fill_row_ids: bool
    ) -> Draft:
        draft = self
        next_id = self._next_fragment_id()
        next_row_id = self.next_row_id
        placed: list[Fragment] = []
        for stated in new:
            fragment = stated
            if fragment.id == 0 and fragment.deletion_file is None:
                fragment = replace(fragment, id=next_id)
                next_id += 1
            draft = draft.with_files_of(fragment)
            if self.stable_row_ids:
                fragment, used = with_row_ids(fragment, next_row_id, self.version, fill_row_ids)
                next_row_id += used
            placed.append(fragment)
        given_ids = {fragment.id for fragment in placed}
        if len(given_ids) < len(placed):
            raise InvalidInputError("two fragments have the same id")
        if any(fragment.id < self._next_fragment_id() for fragment in placed):
            _refuse_used_ids(given_ids, existing)
        highest = max(given_ids, default=-1)
        if highest > MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {MAX_FRAGMENT_ID}")
        before = self._next_fragment_id() - 1
        return replace(
            draft,
            fragments=existing + FragmentList.of(placed),
            max_fragment_id=max(highest, before) if max(highest, before) >= 0 else None,
            next_row_id=next_row_id,
        )

    def with_files_of(self, fragment: Fragment) -> Draft:
        """A draft whose storage version takes the files of ``fragment`` into account.

        The first file determines the version of a new table, and all its files must have this
        version. Raises `InvalidInputError` if the files cannot be committed.
        """
        check_files(fragment, self.base_paths)
        expected, mixed = self.storage_version, self.mixed_file_versions
        for file in fragment.files:
            version = file.file_version
            if expected is None or version == expected:
                expected = version
            elif self.is_new_table or not may_mix(expected, version):
                raise InvalidInputError(
                    f"data file {file.path!r} has version {version}, "
                    f"the table's files have version {expected}"
                )
            else:
                mixed = True
        if (expected, mixed) == (self.storage_version, self.mixed_file_versions):
            return self
        return replace(self, storage_version=expected, mixed_file_versions=mixed)

    def max_fragment_id_after(self, count: int) -> int | None:
        """The highest used fragment id after ``count`` more are assigned, None if none is used.

        Raises `InvalidInputError` if fewer than ``count`` ids are left.
        """
        highest = self._next_fragment_id() - 1 + count
        if highest > MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {MAX_FRAGMENT_ID}")
        return highest if highest >= 0 else None

    def _next_fragment_id(self) -> int:
        """The lowest id above all fragment ids that were ever used."""
        return 0 if self.max_fragment_id is None else self.max_fragment_id + 1


def max_fragment_id(base: Manifest) -> int | None:
    """The highest fragment id ever used; in old tables, the highest id of the fragments."""
    if base.max_fragment_id is None:
        return max(base.fragments.ids, default=None)
    newest = base.fragments.last_id or 0
    check_fragment_id(newest)
    return max(base.max_fragment_id, newest)


def check_new_fields(before: Schema, after: Draft) -> None:
    """Raise `InvalidInputError` if a fragment has no values of a new field that is not nullable."""
    known = frozenset(before.field_ids)
    if known.issuperset(after.schema.field_ids):
        return
    needed = [
        frozenset(part.id for part in field.walk())
        for field in after.schema.walk()
        if field.id not in known
        and not field.nullable
        and (field.parent_id < 0 or field.parent_id in known)
    ]
    if not needed:
        return
    for fragment in after.fragments:
        stored = fragment.file_of_field().keys()
        if any(stored.isdisjoint(ids) for ids in needed):
            raise InvalidInputError(
                f"fragment {fragment.id} has no values for a new column that is not nullable"
            )


def check_files(fragment: Fragment, bases: Sequence[BasePath]) -> None:
    """Raise `InvalidInputError` if the description of a file of ``fragment`` is invalid.

    Raises `InvalidPathError` for a path that leaves the data folder.
    """
    if fragment.overlays:
        raise InvalidInputError(f"fragment {fragment.id} has data overlays")
    check_bases(fragment, bases)
    for file in fragment.files:
        if not file.fields:
            raise InvalidInputError(f"data file {file.path!r} does not contain any fields")
        try:
            file.store_path()
        except CorruptFileError as error:
            raise InvalidPathError(error.message) from None
        try:
            file.columns()
        except CorruptFileError as error:
            raise InvalidInputError(error.message) from None


def check_bases(fragment: Fragment, bases: Sequence[BasePath]) -> None:
    """Raise `InvalidInputError` if a file of ``fragment`` has a base id that ``bases`` lacks."""
    named = {file.base_id for file in fragment.files}
    if fragment.deletion_file is not None:
        named.add(fragment.deletion_file.base_id)
    named.discard(None)
    missing = named and named.difference([base.id for base in bases])
    if missing:
        raise InvalidInputError(
            f"fragment {fragment.id} has files in base path {missing.pop()}, "
            "which is not in the table's list of base paths"
        )


def _refuse_used_ids(ids: Collection[int], existing: FragmentList) -> None:
    used = set(ids).intersection(existing.ids)
    if used:
        raise InvalidInputError(f"fragment id {min(used)} is in use")
