"""File versions: their names, their pairs of version numbers, and what their files can store.

A version appears in three places: as a selector that a caller passes, as (major, minor) in the
footer of a data file, and as (major, minor) of a ``DataFile`` in the manifest. The last two differ
for historical reasons, see `VersionFacts.footer` and `VersionFacts.data_file`.

The versions of the format are known even if the plugin that reads and writes them is not installed:
the history and the schema of a table can be read without its data files. A plugin may add others
with `FileVersion.add`. `lance_core.encodings.version.FileVersionSpec` has the code of a version.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import ClassVar

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

ARRAY_ENCODING_URL = "/lance.encodings.ArrayEncoding"
PAGE_LAYOUT_URL = "/lance.encodings21.PageLayout"
"""Type URLs of the ``Any`` messages with the encoding of a page."""


class NullableTypes(enum.Enum):
    """The types whose nulls a file stores; other nulls become values."""

    ALL = "all"
    NOT_STRUCTS = "all but structs"
    TEXTS = "strings and binary values"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorableTypes:
    """The types of fields that files of a version can store; the default is what 2.2 can.

    ``max_fixed_size_lists``: maximum depth of nested fixed size lists, None without a limit.
    ``packed_structs``: False if the option is ignored. ``blobs``: blobs of version 1, which are
    large_binary unless the version has ``blobs_v2``. ``all_dictionaries``: False if dictionaries
    can have integers, strings and binary values only.
    """

    maps: bool = True
    empty_structs: bool = True
    empty_binary: bool = True
    fixed_size_lists_of_structs: bool = True
    fixed_size_lists_of_nulls: bool = True
    max_fixed_size_lists: int | None = None
    packed_structs: bool = True
    packed_strings: bool = True
    packed_fixed_size_lists: bool = True
    blobs: bool = True
    blobs_v2: bool = True
    all_dictionaries: bool = True
    nulls: NullableTypes = NullableTypes.ALL


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class VersionFacts:
    """What the rest of the library asks about a file version; defaults are the facts of 2.2.

    ``value``: canonical name, as in manifests. ``footer``, ``data_file``: (major, minor) that are
    written to the footer of a file and to the ``DataFile`` in a manifest; ``other_pairs``: others
    that are read. ``aliases``: other names in manifests and for callers. ``page_encoding_url``:
    type URL of the encoding of a page, "" for files without `has_column_metadata`.

    ``stores``: the types of fields. ``has_column_metadata``: files end with the footer, the global
    buffers and the column metadata of 2.x. ``parents_have_columns``: lists and structs have columns
    of their own. ``may_have_byte_lists``: early files store a string in two columns.
    ``has_values_in_place``: values of fixed width can be read at their position, without decoding.

    ``has_batches``: rows are in batches, and all files of a fragment have the same batches.
    ``has_page_statistics``: files have bounds of the values of their batches or pages.

    ``has_partial_files``: a fragment may lack fields of the table. ``splits_structs``: members of a
    struct may be in another file than the struct. ``may_mix``: a table may have files of other
    versions, too. ``has_table_dictionaries``: the manifest has the values of dictionary fields.
    ``has_column_indices``: a ``DataFile`` has the column of each field. ``has_file_sizes``: a
    ``DataFile`` has a size that readers can rely on. ``index_files``: name of the version of index
    files in tables of this version, None for this version.
    """

    value: str
    footer: tuple[int, int]
    data_file: tuple[int, int]
    other_pairs: tuple[tuple[int, int], ...] = ()
    aliases: tuple[str, ...] = ()
    page_encoding_url: str = ""
    stores: StorableTypes = StorableTypes()
    has_column_metadata: bool = True
    parents_have_columns: bool = False
    may_have_byte_lists: bool = False
    has_values_in_place: bool = False
    has_batches: bool = False
    has_page_statistics: bool = False
    has_partial_files: bool = True
    splits_structs: bool = True
    may_mix: bool = True
    has_table_dictionaries: bool = False
    has_column_indices: bool = True
    has_file_sizes: bool = True
    index_files: str | None = None

    @property
    def joins_files(self) -> bool:
        """True if several files can be read as one, by their column metadata."""
        return self.has_column_metadata

    @property
    def copies_pages(self) -> bool:
        """True if compaction can copy pages without decoding them."""
        return self.has_column_metadata

    @property
    def groups_fields(self) -> bool:
        """True if a file can be written one group of fields after the other."""
        return self.has_column_metadata

    @property
    def pairs(self) -> frozenset[tuple[int, int]]:
        """All (major, minor) of the version, in footers and manifests."""
        return frozenset((self.footer, self.data_file, *self.other_pairs))


class _VersionType(type):
    """Makes the known versions the members of `FileVersion`, as of an `enum.Enum`."""

    def __iter__(cls) -> Iterator[FileVersion]:
        return iter(sorted(_by_name.values()))


class FileVersion(VersionFacts, metaclass=_VersionType):
    """A known version of the data file format. ``FileVersion("2.1")`` is the one with this name.

    Each version exists once, so versions are compared by identity; they are ordered by age.
    """

    __slots__ = ()

    V0_1: ClassVar[FileVersion]
    V2_0: ClassVar[FileVersion]
    V2_1: ClassVar[FileVersion]
    V2_2: ClassVar[FileVersion]

    def __new__(cls, value: str) -> FileVersion:
        """The version with this canonical name. Raises `ValueError` for an unknown one."""
        version = _by_name.get(value)
        if version is None:
            raise ValueError(f"{value!r} is not a known file version")
        return version

    def __init__(self, value: str) -> None:
        """Does nothing: `add` has set the facts."""

    def __lt__(self, other: FileVersion) -> bool:
        return self.data_file < other.data_file

    def __le__(self, other: FileVersion) -> bool:
        return self.data_file <= other.data_file

    def __gt__(self, other: FileVersion) -> bool:
        return self.data_file > other.data_file

    def __ge__(self, other: FileVersion) -> bool:
        return self.data_file >= other.data_file

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"FileVersion({self.value!r})"

    def __reduce__(self) -> tuple[type[FileVersion], tuple[str]]:
        return FileVersion, (self.value,)

    @property
    def for_indices(self) -> FileVersion:
        """The version of index files in tables of this version."""
        return self if self.index_files is None else FileVersion(self.index_files)

    @classmethod
    def add(cls, facts: VersionFacts) -> FileVersion:
        """Make a version known; returns the known one if it has the same facts.

        Raises `InvalidInputError` if a known version has other facts, or the same name or pair.
        """
        values = {name: getattr(facts, name) for name in _FACTS}
        known = _by_name.get(facts.value)
        if known is not None and all(getattr(known, n) == v for n, v in values.items()):
            return known
        names = {facts.value, *facts.aliases}
        if names & (_by_name.keys() | _aliases.keys()) or facts.pairs & _by_pair.keys():
            raise InvalidInputError(
                f"file version {facts.value!r} has a name or a pair of version numbers of another"
            )
        version: FileVersion = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(version, name, value)
        _by_name[version.value] = version
        _aliases.update(dict.fromkeys(version.aliases, version.value))
        _by_pair.update(dict.fromkeys(version.pairs, version))
        return version

    @classmethod
    def from_selector(cls, selector: str) -> FileVersion:
        """The version with this canonical name or alias.

        Raises `UnsupportedFeatureError` for 2.3 and `InvalidInputError` for an unknown selector.
        """
        name = selector.lower()
        if name in _UNSTABLE:
            raise UnsupportedFeatureError(
                f"file version {selector!r} (2.3) is unstable and not supported"
            )
        version = _by_name.get(_NEWEST.get(name) or canonical_name(name))
        if version is None:
            known = ", ".join([v.value for v in cls] + sorted([*_aliases, *_NEWEST]))
            raise InvalidInputError(f"unknown file version {selector!r}; known are {known}")
        return version

    @classmethod
    def from_manifest(cls, name: str) -> FileVersion:
        """The version named by the ``data_format`` of a manifest, which has no aliases."""
        version = _by_name.get(name)
        if version is not None:
            return version
        if name == "2.3":
            raise UnsupportedFeatureError("the table is of the unstable file version 2.3")
        raise CorruptFileError(f"unknown file version {name!r}", field="data_format.version")

    @classmethod
    def from_footer(cls, major: int, minor: int) -> FileVersion:
        """The version of a file with these numbers in its footer.

        Raises `UnsupportedFeatureError` for 2.3 and later, `CorruptFileError` for other unknown
        numbers.
        """
        version = _by_pair.get((major, minor))
        if version is not None:
            return version
        if (major, minor) > (2, 2) and major < 100:
            raise UnsupportedFeatureError(f"file version {major}.{minor} is not supported")
        raise CorruptFileError(f"unknown file version {major}.{minor}", field="footer")


def canonical_name(name: str) -> str:
    """The canonical form of the name of a version in a manifest; unknown names are unchanged."""
    return _aliases.get(name, name)


def find_version(name: str) -> FileVersion | None:
    """The version with this canonical name, None if it is unknown."""
    return _by_name.get(name)


def version_of_pair(major: int, minor: int) -> FileVersion | None:
    """The version of a pair in a footer or a ``DataFile``, None if it is unknown."""
    return _by_pair.get((major, minor))


def facts_of_pair(major: int, minor: int) -> VersionFacts:
    """The facts of the version of a pair; an unknown version is taken for one like 2.2."""
    version = _by_pair.get((major, minor))
    if version is not None:
        return version
    return VersionFacts(value=f"{major}.{minor}", footer=(major, minor), data_file=(major, minor))


_FACTS = tuple(VersionFacts.__dataclass_fields__)
_by_name: dict[str, FileVersion] = {}
_by_pair: dict[tuple[int, int], FileVersion] = {}
_aliases: dict[str, str] = {}
_NEWEST = {"stable": "2.2"}
_UNSTABLE = frozenset({"2.3", "next"})

FileVersion.V0_1 = FileVersion.add(
    VersionFacts(
        value="0.1",
        footer=(0, 2),
        data_file=(0, 2),
        other_pairs=((0, 0), (0, 1)),
        aliases=("legacy",),
        stores=StorableTypes(
            maps=False,
            empty_structs=False,
            empty_binary=False,
            fixed_size_lists_of_structs=False,
            fixed_size_lists_of_nulls=False,
            packed_structs=False,
            blobs=False,
            blobs_v2=False,
            all_dictionaries=False,
            nulls=NullableTypes.TEXTS,
        ),
        has_column_metadata=False,
        parents_have_columns=True,
        has_batches=True,
        has_page_statistics=True,
        has_partial_files=False,
        splits_structs=False,
        may_mix=False,
        has_table_dictionaries=True,
        has_column_indices=False,
        has_file_sizes=False,
        index_files="2.0",
    )
)
FileVersion.V2_0 = FileVersion.add(
    VersionFacts(
        value="2.0",
        footer=(0, 3),
        data_file=(2, 0),
        aliases=("0.3",),
        page_encoding_url=ARRAY_ENCODING_URL,
        stores=StorableTypes(
            maps=False,
            empty_binary=False,
            fixed_size_lists_of_structs=False,
            # Each level nests five messages in the page's encoding; readers accept a depth of 100.
            max_fixed_size_lists=18,
            packed_strings=False,
            blobs_v2=False,
            nulls=NullableTypes.NOT_STRUCTS,
        ),
        parents_have_columns=True,
        may_have_byte_lists=True,
        has_values_in_place=True,
        splits_structs=False,
    )
)
FileVersion.V2_1 = FileVersion.add(
    VersionFacts(
        value="2.1",
        footer=(2, 1),
        data_file=(2, 1),
        page_encoding_url=PAGE_LAYOUT_URL,
        stores=StorableTypes(
            maps=False,
            empty_binary=False,
            fixed_size_lists_of_structs=False,
            packed_strings=False,
            packed_fixed_size_lists=False,
            blobs_v2=False,
        ),
        splits_structs=False,
    )
)
FileVersion.V2_2 = FileVersion.add(
    VersionFacts(value="2.2", footer=(2, 2), data_file=(2, 2), page_encoding_url=PAGE_LAYOUT_URL)
)
