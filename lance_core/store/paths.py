"""Paths inside a store: validation and joining.

A path is one or more segments separated by ``/``, relative to the root of the store. Every store
refuses paths that have another meaning on any store (leave the root, name a drive, end a C string,
split at another character) before it reads or writes anything.
"""

from __future__ import annotations

import re

from lance_core.errors import InvalidPathError

MAX_PATH_BYTES = 1024
"""Maximum length of a path in UTF-8 bytes: the limit of object stores."""

MAX_SEGMENT_BYTES = 255
"""Maximum length of a segment in UTF-8 bytes: the limit of file systems."""

_USUAL = re.compile(r"(?:[\w-][\w.-]{0,99}/){0,9}[\w-][\w.-]{0,99}", re.ASCII).fullmatch
"""Matches most paths, all of them valid: they need no closer look."""


def check_path(path: str) -> str:
    """Return ``path`` if it is valid; otherwise raise `InvalidPathError` with the reason."""
    if not isinstance(path, str):
        raise InvalidPathError(f"a path is text, not {type(path).__name__}")
    reason = None if _USUAL(path) else _fault(path)
    if reason:
        shown = path if len(path) <= 200 else f"{path[:200]}…"
        raise InvalidPathError(f"path {shown!a}: {reason}")
    return path


def check_folder(folder: str) -> str:
    """Return ``folder`` if it is a valid path without a final slash, or "" for the root."""
    return folder if folder == "" else check_path(folder)


def is_path(text: str) -> bool:
    """True if ``text`` is a valid path."""
    try:
        check_path(text)
    except InvalidPathError:
        return False
    return True


def join(folder: str, *names: str) -> str:
    """The validated path of ``names`` below ``folder`` ("" is the root)."""
    return check_path("/".join(part for part in (folder, *names) if part))


def is_below(path: str, folder: str) -> bool:
    """True if ``path`` is below ``folder``, at any depth ("" contains every path)."""
    return not folder or path.startswith(f"{folder}/")


def _fault(path: str) -> str:
    """The reason why ``path`` is invalid, or ""."""
    segments = path.split("/")
    if "" in segments:
        if not path:
            return "it is empty"
        return "it is absolute" if path.startswith("/") else "a segment is empty"
    if "." in segments or ".." in segments:
        return "a segment is '.' or '..'"
    if path[1:2] == ":" and path[0].isascii() and path[0].isalpha():
        return "it starts with a drive letter"
    if "\\" in path or not path.isprintable():
        for character in path:
            if _is_forbidden(character):
                return f"the character {character!a} is not allowed"
    # A character takes at most four UTF-8 bytes.
    return _excess(path, segments) if len(path) * 4 > MAX_SEGMENT_BYTES else ""


def _is_forbidden(character: str) -> bool:
    """Backslashes split paths on some systems; control characters and surrogates break them."""
    return (
        character == "\\"
        or character < " "
        or "\x7f" <= character <= "\x9f"
        or "\ud800" <= character <= "\udfff"
    )


def _excess(path: str, segments: list[str]) -> str:
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"longer than {MAX_PATH_BYTES} bytes"
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in segments):
        return f"a segment is longer than {MAX_SEGMENT_BYTES} bytes"
    return ""
