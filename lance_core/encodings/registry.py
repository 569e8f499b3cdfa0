"""What plugins and the built-in one offer for encodings: encodings by key, and inner loops."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lance_core.encodings.kernels import NUMPY, Kernels
from lance_core.encodings.version import FileVersion
from lance_core.errors import PluginConflictError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass


class EncodingFamily(enum.Enum):
    """Which message an encoding is an alternative of; keys are unique within a family."""

    __hash__ = object.__hash__  # that of `enum.Enum` is Python, and each read asks for it

    ARRAY = "lance.encodings.ArrayEncoding"
    """Arrays of 2.0 files."""
    LAYOUT = "lance.encodings21.PageLayout"
    """Page layouts of 2.1 and 2.2 files."""
    COMPRESSIVE = "lance.encodings21.CompressiveEncoding"
    """Compression of values within a page layout."""
    VALUES = "lance_core.encodings.ForeignValues"
    """Encodings of values that plugins bring, in files of any 2.x version."""


Decoder = Callable[..., Any]
Encoder = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class EncodingSpec:
    """One encoding. Immutable; offered by built-ins and plugins alike.

    ``key`` is the name of the protobuf alternative (``"flat"``, ``"nullable"``, …), or a type URL
    in `EncodingFamily.VALUES`. ``min_file_version`` is the first file version
    that may contain it. ``decoder`` and ``encoder`` have the types that the family prescribes
    (for `EncodingFamily.ARRAY` see `lance_core.encodings.v2_0.base`, for
    `EncodingFamily.COMPRESSIVE` `lance_core.encodings.v2_1.codecs.base`); ``encoder`` is None for
    what is only read. Those of `EncodingFamily.VALUES` are
    `lance_core.encodings.plugin_values.value_encoding.ValueEncodingSpec`.

    ``take`` and ``scalar_at`` are short ways to some values and to one, of the types that the
    family prescribes. They give what ``decoder`` gives; without them, it is used.
    """

    key: str
    min_file_version: FileVersion
    decoder: Decoder
    encoder: Encoder | None = None
    family: EncodingFamily = EncodingFamily.ARRAY
    take: Callable[..., Any] | None = None
    scalar_at: Callable[..., Any] | None = None


class EncodingRegistry:
    """Finds encodings by family and key. Built from (provider's name, spec) pairs; immutable.

    A key that two providers offer is no error until someone asks for it. ``failed``: the plugins
    that could not be loaded, as text for errors about a missing encoding. ``kernels``: the inner
    loops that all encodings use.
    """

    __slots__ = ("_entries", "failed", "kernels")

    def __init__(
        self,
        offered: Iterable[tuple[str, EncodingSpec]],
        failed: Sequence[str] = (),
        kernels: Kernels = NUMPY,
    ) -> None:
        entries: dict[tuple[EncodingFamily, str], list[tuple[str, EncodingSpec]]] = {}
        for provider, spec in offered:
            entries.setdefault((spec.family, spec.key), []).append((provider, spec))
        self._entries = entries
        self.failed = tuple(failed)
        self.kernels = kernels

    def find(self, key: str, family: EncodingFamily = EncodingFamily.ARRAY) -> EncodingSpec:
        """The encoding with this key.

        Raises `PluginConflictError` if several providers offer it, and `UnsupportedFeatureError` if
        nobody does.
        """
        entry = self._entries.get((family, key))
        if entry is None:
            raise self._unknown(key, family)
        if len(entry) > 1:
            names = " and ".join(repr(provider) for provider, _ in entry)
            raise PluginConflictError(f"encoding {key!r} is provided by {names}")
        return entry[0][1]

    def offers(self, family: EncodingFamily) -> dict[str, list[tuple[str, EncodingSpec]]]:
        """Every key of a family with everyone who provides it, by name, and what they provide."""
        return {key: list(entry) for (of, key), entry in self._entries.items() if of is family}

    def keys(self, family: EncodingFamily = EncodingFamily.ARRAY) -> list[str]:
        """The known keys of a family, sorted."""
        return sorted(key for of, key in self._entries if of is family)

    def _unknown(self, key: str, family: EncodingFamily) -> Exception:
        known = ", ".join(self.keys(family)) or "none"
        return UnsupportedFeatureError(f"encoding {key!r} is not supported; known are {known}")
