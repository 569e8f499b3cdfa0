"""Tags and branches: names for versions, stored as small JSON files in ``_refs`` of a table.

A tag names one version of one branch. A branch is a separate history of versions: a table in
``tree/<name>`` whose first version is a shallow clone of its parent's version. The main branch has
no name and no file. This module has values, names and bytes only; `lance_core.commits.refs` does
the I/O.

Layout and names follow the format's page on branches and tags; the JSON members have the order of
other writers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from string import ascii_letters, digits
from typing import Any

from lance_core.errors import CorruptFileError, InvalidRefError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.paths import DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS
from lance_core.table.ref_json import RefMembers, time_text, to_bytes

REFS = "_refs"
TAGS = "_refs/tags"
BRANCHES = "_refs/branches"
TREE = "tree"
"""The folder of a table that holds its branches."""

MAIN = "main"
"""Name of the main branch for users; the format stores no name for it."""

MAX_REF_BYTES = 1 << 20
"""Maximum size in bytes of the file of a tag or branch; larger files are rejected."""

_MAX_NAME = 200
_SUFFIX = ".json"
_RESERVED = frozenset({VERSIONS, TRANSACTIONS, DATA, DELETIONS, INDICES, REFS})
"""Folders of a table: a branch ``a/data`` would share a folder with the files of branch ``a``."""

_PLAIN = frozenset(f"{ascii_letters}{digits}.-_".encode())
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for ``version`` of ``branch``; None is the main branch.

    ``manifest_size`` is in bytes. Times are in nanoseconds since the epoch, UTC; None if not
    recorded. ``unknown`` holds members of the JSON that this library does not know.
    """

    version: int
    branch: str | None = None
    manifest_size: int = 0
    created_at_ns: int | None = None
    updated_at_ns: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    unknown: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, data: bytes, path: str = "") -> Tag:
        """Parse a tag. Raises `CorruptFileError` naming ``path`` for any other content."""
        members = RefMembers.of(data, path)
        branch = members.take("branch", str, None)
        return cls(
            members.number("version"),
            None if branch is None else _stored_branch(branch, path),
            members.number("manifestSize", 0),
            members.time("createdAt"),
            members.time("updatedAt"),
            members.metadata(),
            members.rest(),
        )

    def to_json(self) -> bytes:
        """The content of the tag's file."""
        return to_bytes(
            {
                "branch": self.branch,
                "version": self.version,
                "createdAt": time_text(self.created_at_ns),
                "updatedAt": time_text(self.updated_at_ns),
                "manifestSize": self.manifest_size,
                "metadata": dict(self.metadata),
                **self.unknown,
            }
        )


@dataclass(frozen=True, slots=True)
class Branch:
    """The origin of a branch: ``parent_version`` of ``parent_branch``; None is the main branch.

    ``identifier`` is the path from the main branch to this branch, with one pair per branch on it:
    the parent's version and 32 hex digits that are unique to the branch. It is empty in files of
    old writers. ``created_at`` is in seconds since the epoch, ``manifest_size`` the size of the
    parent version's manifest in bytes. ``unknown`` holds members of the JSON that this library does
    not know.
    """

    parent_version: int
    parent_branch: str | None = None
    identifier: tuple[tuple[int, str], ...] = ()
    created_at: int = 0
    manifest_size: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    unknown: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, data: bytes, path: str = "") -> Branch:
        """Parse a branch. Raises `CorruptFileError` naming ``path`` for any other content."""
        members = RefMembers.of(data, path)
        parent = members.take("parentBranch", str, None)
        return cls(
            members.number("parentVersion"),
            None if parent is None else _stored_branch(parent, path),
            members.identifier(),
            members.number("createAt", 0),
            members.number("manifestSize", 0),
            members.metadata(),
            members.rest(),
        )

    def to_json(self) -> bytes:
        """The content of the branch's file."""
        mapping = [[version, step] for version, step in self.identifier]
        return to_bytes(
            {
                "parentBranch": self.parent_branch,
                "identifier": {"version_mapping": mapping},
                "parentVersion": self.parent_version,
                "createAt": self.created_at,
                "manifestSize": self.manifest_size,
                "metadata": dict(self.metadata),
                **self.unknown,
            }
        )


def check_tag_name(name: str, *, new: bool = False) -> str:
    """Return ``name`` if it is a valid tag name; raise `InvalidRefError` otherwise.

    A tag name has letters, digits, ``.``, ``-`` and ``_``. It must not begin or end with a dot,
    contain two adjacent dots, or end with ``.lock``. The name of a ``new`` tag must be ASCII, since
    other libraries cannot read other names.
    """
    reason = _text_objection(name, new) or _segment_objection(name)
    if not reason and (name.startswith(".") or name.endswith((".", ".lock"))):
        reason = "it begins with a dot, or ends with a dot or .lock"
    if reason:
        raise InvalidRefError(f"Ref is invalid: {_shown(name)} cannot be a tag: {reason}")
    return name


def check_branch_name(name: str, *, new: bool = False) -> str:
    """Return ``name`` if it is a valid branch name; raise `InvalidRefError` otherwise.

    A branch name has one or more segments, separated by ``/``, of letters, digits, ``.``, ``-`` and
    ``_``, without two adjacent dots. It is not ``main`` and does not end with ``.lock``. The name
    of a ``new`` branch must be ASCII, and no segment but the first may be the name of a table's
    folder.
    """
    reason = _text_objection(name, new)
    if not reason:
        segments = name.split("/")
        reason = next(filter(None, map(_segment_objection, segments)), "")
        if name == MAIN:
            reason = "the name is reserved for the default branch"
        elif name.endswith(".lock"):
            reason = "it ends in .lock"
        elif not reason and new and not _RESERVED.isdisjoint(segments[1:]):
            reason = "it would share a folder with files of another branch"
    if reason:
        raise InvalidRefError(f"Ref is invalid: {_shown(name)} cannot be a branch: {reason}")
    return name


def branch_or_main(name: str | None) -> str | None:
    """Convert a branch name from a user; None and ``main`` give None, the main branch."""
    return None if name is None or name == MAIN else check_branch_name(name)


def recorded_branch(name: str | None) -> str | None:
    """The branch in a manifest; None for the main branch and for an invalid name."""
    try:
        return branch_or_main(name)
    except InvalidRefError:
        return None


def tag_path(name: str) -> str:
    """Path of a tag's file. Raises `InvalidRefError` for an invalid name."""
    return f"{TAGS}/{_encoded(check_tag_name(name))}{_SUFFIX}"


def branch_path(name: str) -> str:
    """Path of a branch's file, with ``/`` encoded as ``%2F``; `InvalidRefError` for a bad name."""
    return f"{BRANCHES}/{_encoded(check_branch_name(name))}{_SUFFIX}"


def branch_folder(name: str) -> str:
    """Root of a branch, relative to the table's root. Raises `InvalidRefError` for a bad name."""
    return f"{TREE}/{check_branch_name(name)}"


def name_of_tag_file(file_name: str) -> str | None:
    """The name of the tag in a file of `TAGS`, or None; raises like `name_of_branch_file`."""
    return _name_of(file_name, TAGS, tag_path)


def name_of_branch_file(file_name: str) -> str | None:
    """The name of the branch in a file of `BRANCHES`, or None if the file is not JSON.

    Raises `CorruptFileError` for a JSON file whose name is not the encoded name of a branch: it is
    unknown if this file protects versions from cleanup.
    """
    return _name_of(file_name, BRANCHES, branch_path)


def _name_of(file_name: str, folder: str, path_of: Callable[[str], str]) -> str | None:
    if not file_name.endswith(_SUFFIX):
        return None
    path = f"{folder}/{file_name}"
    try:
        name = _decoded(file_name.removesuffix(_SUFFIX))
        canonical = path_of(name)
    except (InvalidRefError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"the file's name is not the name of a ref: {error}", path) from None
    if canonical != path:
        raise CorruptFileError("the file's name is not the name of a ref", path)
    return name


def _encoded(name: str) -> str:
    """Percent-encode a name for a file, except ASCII letters, digits and ``.-_``."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in name.encode())


def _decoded(text: str) -> str:
    """The reverse of `_encoded`. Raises `UnicodeDecodeError` for bytes that are not UTF-8."""
    raw = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw).decode()


def _text_objection(name: object, new: bool) -> str:
    if not isinstance(name, str):
        return "it is not text"
    if not name:
        return "it is empty"
    if len(name.encode("utf-8", "replace")) > _MAX_NAME:
        return f"it is longer than {_MAX_NAME} bytes"
    return "only ASCII letters can be used" if new and not name.isascii() else ""


def _segment_objection(segment: str) -> str:
    if not segment:
        return "a segment is empty"
    if not all(character.isalnum() or character in ".-_" for character in segment):
        return "only letters, digits, '.', '-' and '_' can be used"
    if ".." in segment or segment == ".":
        return "a segment must not be a single dot or contain two adjacent dots"
    return ""


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _stored_branch(name: str, path: str) -> str | None:
    try:
        return branch_or_main(name)
    except InvalidRefError as error:
        raise CorruptFileError(error.message, path) from None
