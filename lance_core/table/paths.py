"""Names of a table's files, and validation of paths from a table's metadata.

All paths are relative to the table's root. Names that are not part of the format (staging and
temporary files, files of other tools) parse to None; callers must ignore these files.
See docs/format/table.md.
"""

from __future__ import annotations

import enum
import re
import uuid as uuids
from functools import lru_cache

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass

DATA = "data"
VERSIONS = "_versions"
TRANSACTIONS = "_transactions"
DELETIONS = "_deletions"
INDICES = "_indices"
"""The folder of indices, each in a folder of its uuid."""

VERSION_HINT = "_versions/latest_version_hint.json"
"""A file of other writers. It may be missing, stale or wrong, so this library never reads it."""

DETACHED = 1 << 63
"""Bit of the version number of detached commits: readable by number, never the latest version."""

_U64_MAX = (1 << 64) - 1
_MANIFEST_NAME = re.compile(r"(d?)([0-9]{1,20})\.manifest", re.ASCII)
_DRIVE = re.compile(r"[A-Za-z]:")
_USUAL_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII).fullmatch
"""Matches the names that writers give, which need no closer look."""


class NamingScheme(enum.Enum):
    """Mapping from a version to the name of its manifest; a table uses one scheme for all."""

    V1 = "V1"
    """The version in decimal."""
    V2 = "V2"
    """2**64 - 1 minus the version, in 20 decimal digits: the newest version sorts first."""


@dataclass(frozen=True, slots=True)
class ManifestName:
    """The content of a manifest's name. ``scheme`` is None for a detached version."""

    version: int
    scheme: NamingScheme | None


def manifest_path(version: int, scheme: NamingScheme = NamingScheme.V2) -> str:
    """Path of the manifest of ``version``; detached versions have the same name in both schemes.

    Raises `InvalidInputError` if ``version`` is not an unsigned 64-bit number.
    """
    if not 0 <= version <= _U64_MAX:
        raise InvalidInputError(f"version {version} is not an unsigned 64-bit number")
    if version & DETACHED:
        return f"{VERSIONS}/d{version}.manifest"
    if scheme is NamingScheme.V1:
        return f"{VERSIONS}/{version}.manifest"
    return f"{VERSIONS}/{_U64_MAX - version:020}.manifest"


@lru_cache(maxsize=4096)
def parse_manifest_name(name: str) -> ManifestName | None:
    """Parse the name of a file in `VERSIONS`; None if it is not the name of a manifest.

    Only names that `manifest_path` returns are accepted: each version has one name per scheme.
    """
    match = _MANIFEST_NAME.fullmatch(name)
    if match is None:
        return None
    prefix, digits = match.groups()
    number = int(digits)
    scheme = None
    if prefix:
        version = number
    elif len(digits) == 20:
        version, scheme = _U64_MAX - number, NamingScheme.V2
    else:
        version, scheme = number, NamingScheme.V1
    if not 0 <= version <= _U64_MAX or (version & DETACHED != 0) != (scheme is None):
        return None
    canonical = manifest_path(version, scheme or NamingScheme.V2)
    return ManifestName(version, scheme) if canonical.endswith(f"/{name}") else None


def transaction_file_name(read_version: int, uuid: str) -> str:
    """Name of a transaction file in the folder `TRANSACTIONS`."""
    return f"{read_version}-{uuid}.txn"


def transaction_path(name: str) -> str:
    """Path of a transaction file; ``name`` is ``Manifest.transaction_file``, checked here."""
    return f"{TRANSACTIONS}/{check_name(name, 'transaction_file')}"


def data_file_name(uuid: uuids.UUID) -> str:
    """Name of a new data file: the first 3 bytes of the UUID in binary, the rest in hexadecimal.

    The binary digits distribute the names over the key ranges of an object store.
    """
    head, rest = uuid.bytes[:3], uuid.bytes[3:]
    return f"{int.from_bytes(head, 'big'):024b}{rest.hex()}.lance"


@lru_cache(maxsize=4096)
def data_file_path(name: str) -> str:
    """Path of a data file; ``name`` is a ``DataFile.path``, checked by `check_relative`."""
    return f"{DATA}/{check_relative(name, 'DataFile.path')}"


def check_relative(path: str, field: str) -> str:
    """Return ``path`` if joining it to a folder cannot leave this folder on any store.

    For paths from stored metadata. Raises `CorruptFileError` naming ``field`` for empty paths and
    segments, ``.`` and ``..`` (also percent-encoded), absolute paths, URLs, drive letters,
    backslashes, control characters, encoded separators and more than 4096 characters.
    """
    reason = None if _USUAL_NAME(path) else _objection(path)
    if reason is not None:
        raise CorruptFileError(f"path {path[:200]!r} {reason}", field=field)
    return path


def check_name(name: str, field: str) -> str:
    """Return ``name`` if it is a relative path of one segment; raises like `check_relative`."""
    if "/" in name:
        raise CorruptFileError(f"{name[:200]!r} is not a file name", field=field)
    return check_relative(name, field)


def _objection(path: str) -> str | None:
    if not path:
        return "is empty"
    if len(path) > 4096:
        return "is longer than 4096 characters"
    if not path.isprintable():
        return "contains unprintable characters"
    if "\\" in path:
        return "contains a backslash"
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    objections = (_segment_objection(segment) for segment in path.split("/"))
    return next(filter(None, objections), None)


def _segment_objection(segment: str) -> str | None:
    if not segment:
        return "has an empty segment"
    plain = segment.lower().replace("%2e", ".")
    if plain in {".", ".."}:
        return "has a '.' or '..' segment"
    return "has an encoded separator" if "%2f" in plain or "%5c" in plain else None


def side_file_path(data_file: str, blob_id: int) -> str:
    """The path of the side file number ``blob_id`` of ``data_file``.

    The name is the number in binary, 32 digits, lowest bit first. Raises `CorruptFileError` if the
    name of the data file does not end in ``.lance``.
    """
    stem = data_file.removesuffix(".lance")
    if stem == data_file:
        raise CorruptFileError("a data file with this name has no blobs beside it", data_file)
    bits = f"{blob_id:032b}"
    return f"{stem}/{bits[::-1]}.blob"
