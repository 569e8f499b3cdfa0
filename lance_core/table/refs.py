"""Tags and branches: names for versions, as small JSON files below ``_refs`` of a table's root.

A tag names one version of one branch. A branch is a line of versions of its own: a table below
``tree/<name>`` whose first version is a shallow clone of its parent's version. The main branch has
no name and no file. Values, names and bytes only; reading and writing is done in
`lance_core.commits.refs`.

Layout and names: the format's page on branches and tags; the members of the JSON as other writers
put them.
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
from lance_core.table.ref_members import RefMembers, time_text, to_bytes

REFS = "_refs"
TAGS = "_refs/tags"
BRANCHES = "_refs/branches"
TREE = "tree"
"""The folder of a table that holds its branches."""

MAIN = "main"
"""What users may call the branch that has no name."""

MAX_REF_BYTES = 1 << 20
"""Larger files are not taken for a tag or branch."""

_MAX_NAME = 200
_SUFFIX = ".json"
_RESERVED = frozenset({VERSIONS, TRANSACTIONS, DATA, DELETIONS, INDICES, REFS})
"""Folders of a table: a branch ``a/data`` would lie among the files of branch ``a``."""

_PLAIN = frozenset(f"{ascii_letters}{digits}.-_".encode())
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for ``version`` of ``branch`` (None: the main one).

    ``manifest_size`` in bytes. Times are nanoseconds since the epoch, UTC, None if not recorded.
    ``unknown`` holds members of the JSON that this library does not know.
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
        """Raises `CorruptFileError` naming ``path`` for anything that is no tag."""
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
    """Where a branch began: at ``parent_version`` of ``parent_branch`` (None: the main one).

    ``identifier`` is the way from the main branch to this one, a pair for each step: the version
    that was left and 32 hex digits that no other branch has. Empty in files of old writers.
    ``created_at`` counts seconds since the epoch. ``manifest_size`` in bytes, of the parent's
    version. ``unknown`` holds members of the JSON that this library does not know.
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
        """Raises `CorruptFileError` naming ``path`` for anything that is no branch."""
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
    """``name`` itself if a tag can have it; else `InvalidRefError`.

    Letters, digits, ``.``, ``-`` and ``_``, with single dots inside only, and not ending in
    ``.lock``. A ``new`` one has ASCII letters only: others are unreadable to other libraries.
    """
    reason = _text_objection(name, new) or _segment_objection(name)
    if not reason and (name.startswith(".") or name.endswith((".", ".lock"))):
        reason = "it begins with a dot, or ends with a dot or .lock"
    if reason:
        raise InvalidRefError(f"Ref is invalid: {_shown(name)} cannot be a tag: {reason}")
    return name


def check_branch_name(name: str, *, new: bool = False) -> str:
    """``name`` itself if a branch can have it; else `InvalidRefError`.

    One or more segments, separated by ``/``, of letters, digits, ``.``, ``-`` and ``_``, without
    two dots in a row; not ``main``, and not ending in ``.lock``. A ``new`` one has ASCII letters
    only, and its later segments are not named as the folders of a table.
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
            reason = "it would lie among the files of another branch"
    if reason:
        raise InvalidRefError(f"Ref is invalid: {_shown(name)} cannot be a branch: {reason}")
    return name


def branch_or_main(name: str | None) -> str | None:
    """A branch as users name it; None for the main one, which they may call ``main``."""
    return None if name is None or name == MAIN else check_branch_name(name)


def recorded_branch(name: str | None) -> str | None:
    """The branch that a manifest names, None for the main one and for what is no branch's name."""
    try:
        return branch_or_main(name)
    except InvalidRefError:
        return None


def tag_path(name: str) -> str:
    """Where the file of a tag is, after checking its name."""
    return f"{TAGS}/{_encoded(check_tag_name(name))}{_SUFFIX}"


def branch_path(name: str) -> str:
    """Where the file of a branch is, after checking its name; ``/`` is stored as ``%2F``."""
    return f"{BRANCHES}/{_encoded(check_branch_name(name))}{_SUFFIX}"


def branch_folder(name: str) -> str:
    """The root of a branch, relative to the root of its table, after checking the name."""
    return f"{TREE}/{check_branch_name(name)}"


def name_of_tag_file(file_name: str) -> str | None:
    """The tag that a file in `TAGS` holds, if any; errors as of `name_of_branch_file`."""
    return _name_of(file_name, TAGS, tag_path)


def name_of_branch_file(file_name: str) -> str | None:
    """The branch that a file in `BRANCHES` holds, None if it holds none.

    Raises `CorruptFileError` for a JSON file whose name is not what a branch's would be: whether
    it protects versions cannot be known.
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
        raise CorruptFileError(f"the file's name is not that of a ref: {error}", path) from None
    if canonical != path:
        raise CorruptFileError("the file's name is not that of a ref", path)
    return name


def _encoded(name: str) -> str:
    """A name as a file's name: percent-encoded, but for ASCII letters, digits, ``.-_``."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in name.encode())


def _decoded(text: str) -> str:
    """What `_encoded` made ``text`` of; `UnicodeDecodeError` if that was not text."""
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
        return "dots must stand alone, among other characters"
    return ""


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _stored_branch(name: str, path: str) -> str | None:
    try:
        return branch_or_main(name)
    except InvalidRefError as error:
        raise CorruptFileError(error.message, path) from None
