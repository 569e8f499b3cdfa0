"""Read and write the JSON of tags and branches: type checks of members, and time stamps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

_MAX_U64 = (1 << 64) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d{1,18}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RefMembers:
    """A JSON object; each method removes one member from it and checks the member's type.

    All methods raise `CorruptFileError` naming the file and the member.
    """

    members: dict[str, Any]
    path: str

    @classmethod
    def of(cls, data: bytes, path: str) -> RefMembers:
        """Raises `CorruptFileError` naming ``path`` unless ``data`` is a JSON object."""
        try:
            members = json.loads(data, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise CorruptFileError(f"the ref is not JSON: {error}", path) from None
        if not isinstance(members, dict):
            raise CorruptFileError("the ref is not a JSON object", path)
        return cls(members, path)

    def take(self, name: str, expected: type[T], *default: T | None) -> T | None:
        """Remove and return the member ``name``; ``default`` if it is missing or null.

        Raises the error of `wrong` if it is no ``expected``, or is missing without a default.
        """
        value = self.members.pop(name, None)
        if value is None and default:
            return default[0]
        if not isinstance(value, expected) or isinstance(value, bool):
            raise self.wrong(name)
        return value

    def number(self, name: str, *default: int) -> int:
        """Remove and return a member that is an unsigned 64-bit number."""
        value = self.take(name, int, *default)
        if value is None or not 0 <= value <= _MAX_U64:
            raise self.wrong(name)
        return value

    def time(self, name: str) -> int | None:
        """Remove an RFC 3339 time; returns nanoseconds since the epoch, None if missing."""
        text = self.take(name, str, None)
        if text is None:
            return None
        match = _TIME.fullmatch(text)
        if match is None:
            raise self.wrong(name)
        try:
            moment = datetime.fromisoformat(match[1].upper() + match[3].upper())
            since = moment.astimezone(UTC) - _EPOCH
        except (ValueError, OverflowError):
            raise self.wrong(name) from None
        return since // timedelta(seconds=1) * 10**9 + int((match[2] or "").ljust(9, "0")[:9])

    def metadata(self) -> dict[str, str]:
        """Remove and return the member ``metadata``, a map from text to text."""
        metadata: dict[str, Any] = self.take("metadata", dict, None) or {}
        if not all(isinstance(value, str) for value in metadata.values()):
            raise self.wrong("metadata")
        return metadata

    def identifier(self) -> tuple[tuple[int, str], ...]:
        """Remove the member ``identifier``; returns its pairs of a version and a text."""
        outer = self.take("identifier", dict, None) or {}
        mapping = outer.get("version_mapping", [])
        if not isinstance(mapping, list) or not all(_is_step(step) for step in mapping):
            raise self.wrong("identifier")
        return tuple((version, step) for version, step in mapping)

    def rest(self) -> dict[str, Any]:
        """The members that were not removed."""
        return self.members

    def wrong(self, name: str) -> CorruptFileError:
        """The error for the member ``name``."""
        return CorruptFileError(
            "the member of the ref is missing or invalid", self.path, field=name
        )


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a valid number")


def _is_step(step: object) -> bool:
    return (
        isinstance(step, list)
        and len(step) == 2
        and type(step[0]) is int
        and 0 <= step[0] <= _MAX_U64
        and isinstance(step[1], str)
    )


def time_text(time_ns: int | None) -> str | None:
    """Nanoseconds since the epoch as RFC 3339 text, with nine digits after the point."""
    if time_ns is None:
        return None
    seconds, fraction = divmod(time_ns, 10**9)
    whole = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return f"{whole}.{fraction:09}Z"


def to_bytes(members: Mapping[str, Any]) -> bytes:
    """Serialize ``members`` with the indentation that other writers use."""
    return json.dumps(members, indent=2).encode()
