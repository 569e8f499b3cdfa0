"""The content of a version that is being built: what operations change.

An operation turns a `Draft` into another one; `lance_core.table.transactions.apply` then adds what
concerns the commit itself (time, writer, flags, names).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.errors import CorruptFileError, InvalidInputError, InvalidPathError
from lance_core.lazy_dataclass import dataclass
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
    """A version before it is committed.

    ``version`` is the number it will have. ``storage_version`` names the version of its data files,
    None while no file has decided it; ``mixed_file_versions`` says that files of others may be
    there, too. ``has_deletion_files`` is None if it has to be looked up: who
    replaces or drops fragments sets it so.
    ``index_section`` is a serialized ``IndexSection``. ``read_version`` is what the transaction was
    computed from. ``source`` is the version that a Restore brings back or a Clone copies, None for
    other operations. ``flags`` are those of the version that the content comes from, ``carried``
    what is handed on uninterpreted.
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
        """A draft with the content of ``base``."""
        return cls(
            version=base.version + 1,
            schema=base.schema,
            fragments=base.fragments,
            max_fragment_id=_max_fragment_id(base),
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
        """The indices; `CorruptFileError` if the section is broken."""
        return parse_index_section(self.index_section)

    def with_indices(self, indices: tuple[IndexMetadata, ...]) -> Draft:
        """A draft with these indices; the section keeps its bytes if nothing changes."""
        if indices == self.indices:
            return self
        return dataclasses.replace(self, index_section=serialize_index_section(indices))

    def with_retained_indices(self) -> Draft:
        """A draft without the indices that its schema and fragments make meaningless."""
        if self.index_section is None:
            return self
        return self.with_indices(retained(self.indices, self.schema, self.fragments.counts.ids))

    def with_new_fragments(
        self, kept: FragmentList, new: Sequence[Fragment], fill_row_ids: bool = False
    ) -> Draft:
        """A draft of the fragments ``kept`` followed by ``new`` ones, whose ids are assigned here.

        A fragment with id 0 and without deleted rows is new; others keep their id, which must be
        free. With stable row ids, a fragment has an id for each row or none; with ``fill_row_ids``
        it may have ids of its first rows only. Raises `InvalidInputError` for fragments that cannot
        be part of this table.
        """
        draft = self
        next_id = self._next_fragment_id()
        next_row_id = self.next_row_id
        placed: list[Fragment] = []
        for given in new:
            fragment = given
            if fragment.id == 0 and fragment.deletion_file is None:
                fragment = dataclasses.replace(fragment, id=next_id)
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
            _refuse_used_ids(given_ids, kept)
        highest = max(given_ids, default=-1)
        if highest > MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {MAX_FRAGMENT_ID}")
        before = self._next_fragment_id() - 1
        return dataclasses.replace(
            draft,
            fragments=kept + FragmentList.of(placed),
            max_fragment_id=max(highest, before) if max(highest, before) >= 0 else None,
            next_row_id=next_row_id,
        )

    def with_files_of(self, fragment: Fragment) -> Draft:
        """A draft that knows the versions of the files of ``fragment``, which it will hold.

        The first file decides the version of a new table, whose files are all alike. Raises
        `InvalidInputError` if the files cannot be committed.
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
        return dataclasses.replace(self, storage_version=expected, mixed_file_versions=mixed)

    def max_fragment_id_after(self, count: int) -> int | None:
        """The highest fragment id in use once ``count`` more are taken, None if there is none.

        Raises `InvalidInputError` if there are not so many left.
        """
        highest = self._next_fragment_id() - 1 + count
        if highest > MAX_FRAGMENT_ID:
            raise InvalidInputError(f"fragment id {highest} is above {MAX_FRAGMENT_ID}")
        return highest if highest >= 0 else None

    def _next_fragment_id(self) -> int:
        """The lowest id that no fragment of any version has had."""
        return 0 if self.max_fragment_id is None else self.max_fragment_id + 1


def _max_fragment_id(base: Manifest) -> int | None:
    """The highest fragment id ever used; old tables do not record it, their fragments tell it."""
    if base.max_fragment_id is None:
        return max(base.fragments.counts.ids, default=None)
    newest = base.fragments[-1].id if base.fragments else 0
    check_fragment_id(newest)
    return max(base.max_fragment_id, newest)


def check_new_fields(before: Schema, after: Draft) -> None:
    """Raise `InvalidInputError` if a fragment lacks values of a new field that cannot be null."""
    known = frozenset(before.field_ids)
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
                f"fragment {fragment.id} holds no values of a new column that cannot be null"
            )


def check_files(fragment: Fragment, bases: Sequence[BasePath]) -> None:
    """Raise `InvalidInputError` unless the files of ``fragment`` are described as they must be."""
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
    """Raise `InvalidInputError` unless all base paths that the fragment's files name are listed."""
    named = {file.base_id for file in fragment.files}
    if fragment.deletion_file is not None:
        named.add(fragment.deletion_file.base_id)
    missing = named - {None} - {base.id for base in bases}
    if missing:
        raise InvalidInputError(
            f"fragment {fragment.id} names files of base path {missing.pop()}, "
            "which the table does not list"
        )


def _refuse_used_ids(ids: Collection[int], kept: FragmentList) -> None:
    used = set(ids).intersection(kept.counts.ids)
    if used:
        raise InvalidInputError(f"fragment id {min(used)} is in use")
