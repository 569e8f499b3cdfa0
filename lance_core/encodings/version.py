"""File versions: their names, their pairs of version numbers, and the supported ones.

A version appears in three places: as a selector that a caller passes, as (major, minor) in the
footer of a data file, and as (major, minor) of a ``DataFile`` in the manifest. The last two differ
for historical reasons, see `FileVersion.footer` and `FileVersion.data_file`.
"""

from __future__ import annotations

import enum

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError


class FileVersion(enum.Enum):
    """A version of the data file format; the value is its canonical name, as in manifests."""

    V0_1 = "0.1"
    V2_0 = "2.0"
    V2_1 = "2.1"
    V2_2 = "2.2"

    __hash__ = object.__hash__  # `enum.Enum` hashes in Python code, which slows every read

    def __lt__(self, other: FileVersion) -> bool:
        return _ORDER[self] < _ORDER[other]

    def __le__(self, other: FileVersion) -> bool:
        return _ORDER[self] <= _ORDER[other]

    def __str__(self) -> str:
        return self.value

    @property
    def footer(self) -> tuple[int, int]:
        """(major, minor) for the footer of a file."""
        return _FOOTER[self]

    @property
    def data_file(self) -> tuple[int, int]:
        """(major, minor) for the ``DataFile`` in a manifest."""
        return _DATA_FILE[self]

    @property
    def page_encoding_url(self) -> str:
        """Type URL of the ``Any`` message with a page's encoding; "" for 0.1, which has none."""
        return _PAGE_ENCODING_URL.get(self, "")

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
        try:
            return cls(_ALIASES.get(name, name))
        except ValueError:
            known = ", ".join([v.value for v in cls] + sorted(_ALIASES))
            raise InvalidInputError(
                f"unknown file version {selector!r}; known are {known}"
            ) from None

    @classmethod
    def from_manifest(cls, name: str) -> FileVersion:
        """The version named by the ``data_format`` of a manifest, which has no aliases."""
        if name == "2.3":
            raise UnsupportedFeatureError("the table is of the unstable file version 2.3")
        try:
            return cls(name)
        except ValueError:
            raise CorruptFileError(
                f"unknown file version {name!r}", field="data_format.version"
            ) from None

    @classmethod
    def from_footer(cls, major: int, minor: int) -> FileVersion:
        """The version of a file with these numbers in its footer.

        Raises `UnsupportedFeatureError` for 2.3 and later, `CorruptFileError` for other unknown
        numbers.
        """
        version = _FROM_FOOTER.get((major, minor))
        if version is not None:
            return version
        if (major, minor) > (2, 2) and major < 100:
            raise UnsupportedFeatureError(f"file version {major}.{minor} is not supported")
        raise CorruptFileError(f"unknown file version {major}.{minor}", field="footer")


_ORDER = {version: number for number, version in enumerate(FileVersion)}
_ALIASES = {"legacy": "0.1", "0.3": "2.0", "stable": "2.2"}
_UNSTABLE = frozenset({"2.3", "next"})
_FOOTER = {
    FileVersion.V0_1: (0, 2),
    FileVersion.V2_0: (0, 3),
    FileVersion.V2_1: (2, 1),
    FileVersion.V2_2: (2, 2),
}
_DATA_FILE = {**_FOOTER, FileVersion.V2_0: (2, 0)}
_FROM_FOOTER = {
    (0, 0): FileVersion.V0_1,
    (0, 1): FileVersion.V0_1,
    (0, 2): FileVersion.V0_1,
    (0, 3): FileVersion.V2_0,
    (2, 0): FileVersion.V2_0,
    (2, 1): FileVersion.V2_1,
    (2, 2): FileVersion.V2_2,
}
_PAGE_ENCODING_URL = {
    FileVersion.V2_0: "/lance.encodings.ArrayEncoding",
    FileVersion.V2_1: "/lance.encodings21.PageLayout",
    FileVersion.V2_2: "/lance.encodings21.PageLayout",
}

COLUMN_ENCODING_URL = "/lance.encodings.ColumnEncoding"
"""Type URL of the ``Any`` message with a column's encoding, in all 2.x versions."""
