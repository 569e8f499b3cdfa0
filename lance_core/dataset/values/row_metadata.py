"""Row ids and row versions of a fragment, as serialized messages that are written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from lance_core.errors import InvalidInputError, UnsupportedFeatureError


class RowMetadata(bytes):
    """A message of the format with an entry for each row of a fragment."""

    __slots__ = ()

    key: ClassVar[str]
    """The key of the bytes in JSON."""

    def asdict(self) -> dict[str, list[int]]:
        """The bytes as numbers, as JSON has them."""
        return {self.key: list(self)}

    def json(self) -> str:
        """The text of `asdict`."""
        return json.dumps(self.asdict(), separators=(",", ":"))

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """The value of `asdict`.

        Raises `InvalidInputError` for another, `UnsupportedFeatureError` for a file of its own.
        """
        try:
            ((key, data),) = value.items()
            if key.lower() == "inline":
                return cls(list(data))
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"not the JSON form of a {cls.__name__}: {error}") from error
        raise UnsupportedFeatureError(f"a {cls.__name__} that is {key!r} is not supported")

    @classmethod
    def from_json(cls, json_data: str) -> Self:
        """Parse the text of `json`; raises like `from_dict`."""
        try:
            return cls.from_dict(json.loads(json_data))
        except (json.JSONDecodeError, TypeError) as error:
            raise InvalidInputError(f"not JSON: {error}") from error


class RowIdMeta(RowMetadata):
    """The stable row ids of a fragment; `RowIdSequence` decodes them."""

    __slots__ = ()

    key = "Inline"


class RowDatasetVersionMeta(RowMetadata):
    """For each row of a fragment, the version that created it, or that changed it last."""

    __slots__ = ()

    key = "inline"
