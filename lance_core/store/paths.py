"""Paths inside a store: which are allowed, and how they are put together.

A path is one or more segments separated by ``/``, relative to the root of the store. What could
mean something else on some store (leave the root, name a drive, end a C string, be split at
another character) is refused everywhere, before anything is read or written.
"""

from __future__ import annotations

import re

from lance_core.errors import InvalidPathError

MAX_PATH_BYTES = 1024
"""Longest path, in UTF-8 bytes: the limit of object stores."""

MAX_SEGMENT_BYTES = 255
"""Longest segment, in UTF-8 bytes: the limit of file systems."""

# Control characters and lone surrogates; "/" separates, "\" does so on some systems.
_NOT_IN_SEGMENT = r"/\\\x00-\x1f\x7f-\x9f\ud800-\udfff"
_SEGMENT = rf"(?!\.{{1,2}}(?:/|\Z))[^{_NOT_IN_SEGMENT}]+"
_PATH = re.compile(rf"(?![A-Za-z]:){_SEGMENT}(?:/{_SEGMENT})*")
_FORBIDDEN = re.compile(rf"[{_NOT_IN_SEGMENT.removeprefix('/')}]")


def check_path(path: str) -> str:
    """``path`` itself if it names an object; else `InvalidPathError` with the reason."""
    if not isinstance(path, str):
        raise InvalidPathError(f"a path is text, not {type(path).__name__}")
    if _PATH.fullmatch(path) is None:
        raise InvalidPathError(f"path {_shown(path)}: {_reason(path)}")
    if len(path) * 4 > MAX_SEGMENT_BYTES:
        _check_length(path)
    return path


def check_folder(folder: str) -> str:
    """``folder`` itself if it names a folder: a path without a final slash, or "" for the root."""
    return folder if folder == "" else check_path(folder)


def is_path(text: str) -> bool:
    """Whether ``text`` could name an object."""
    try:
        check_path(text)
    except InvalidPathError:
        return False
    return True


def join(folder: str, *names: str) -> str:
    """The path of ``names`` below ``folder`` ("" is the root), checked."""
    return check_path("/".join(part for part in (folder, *names) if part))


def is_below(path: str, folder: str) -> bool:
    """Whether ``path`` lies in ``folder``, at any depth ("" holds every path)."""
    return not folder or path.startswith(f"{folder}/")


def _check_length(path: str) -> None:
    if len(path.encode()) > MAX_PATH_BYTES:
        raise InvalidPathError(f"path {_shown(path)}: longer than {MAX_PATH_BYTES} bytes")
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in path.split("/")):
        raise InvalidPathError(
            f"path {_shown(path)}: a segment is longer than {MAX_SEGMENT_BYTES} bytes"
        )


def _reason(path: str) -> str:
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    if re.match(r"[A-Za-z]:", path):
        return "it starts with a drive letter"
    if found := _FORBIDDEN.search(path):
        return f"the character {found.group()!a} is not allowed"
    if any(segment in {".", ".."} for segment in path.split("/")):
        return "a segment is '.' or '..'"
    return "a segment is empty"


def _shown(path: str) -> str:
    """``path`` for a message: printable and of bounded length."""
    return ascii(path if len(path) <= 200 else f"{path[:200]}…")
