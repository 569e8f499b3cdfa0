"""Encoding options of a leaf from field metadata, in 2.1 and 2.2 files.

Metadata values that cannot be parsed are ignored, as in pylance. Names of compressions and of
structures are checked only where they are used. So metadata without an effect, for example a
compression for vectors, never raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lance_core.encodings.plugin_values.value_encoding import ENCODING_KEY
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.schema import Field

PREFIX = "lance-encoding:"
STRUCTURAL_KEY = f"{PREFIX}structural-encoding"

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_BSS = ("off", "on", "auto")


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The requested options of a leaf; None for an option that is not requested.

    ``compression`` should be ``zstd``, ``lz4``, ``fsst`` or ``none``, with an optional ``level``.
    ``structural_encoding`` should be ``miniblock`` or ``fullzip``. ``bss`` (byte stream split) is
    ``on``, ``off`` or ``auto``. ``minichunk_size`` is in bytes. ``encoding`` names an encoding of a
    plugin. ``children`` are the options of the children of a packed struct, in order.
    """

    compression: str | None = None
    level: int | None = None
    rle_threshold: float | None = None
    bss: str | None = None
    dict_divisor: int | None = None
    dict_size_ratio: float | None = None
    dict_values_compression: str | None = None
    dict_values_level: int | None = None
    structural_encoding: str | None = None
    minichunk_size: int | None = None
    encoding: str | None = None
    children: tuple[FieldOptions, ...] = ()

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> FieldOptions:
        """The options of a top-level leaf with this metadata."""
        bss = (metadata.get(f"{PREFIX}bss") or "").lower()
        return cls(
            compression=metadata.get(f"{PREFIX}compression"),
            level=_whole(metadata, "compression-level", -(1 << 31), 1 << 31),
            rle_threshold=_number(metadata, "rle-threshold"),
            bss=bss if bss in _BSS else None,
            dict_divisor=_whole(metadata, "dict-divisor", 0, 1 << 64),
            dict_size_ratio=_number(metadata, "dict-size-ratio"),
            dict_values_compression=metadata.get(f"{PREFIX}dict-values-compression"),
            dict_values_level=_whole(
                metadata, "dict-values-compression-level", -(1 << 31), 1 << 31
            ),
            structural_encoding=_structure(metadata),
            minichunk_size=_whole(metadata, "minichunk-size", -(1 << 63), 1 << 63),
            encoding=metadata.get(ENCODING_KEY),
        )

    @classmethod
    def of_leaf(cls, leaf: Field, top: Field) -> FieldOptions:
        """The options of a leaf that is below the top-level field ``top`` or equal to it.

        The structural encoding is taken from ``top``, all other options from the leaf.
        """
        if not (leaf.metadata or top.metadata or leaf.children):
            return NO_OPTIONS
        own = cls.of(leaf.metadata)
        children = tuple(cls.of_leaf(child, child) for child in leaf.children)
        return replace(own, structural_encoding=_structure(top.metadata), children=children)


NO_OPTIONS = FieldOptions()


def _structure(metadata: Mapping[str, str]) -> str | None:
    text = metadata.get(STRUCTURAL_KEY)
    return None if text is None else text.lower()


def _whole(metadata: Mapping[str, str], key: str, low: int, high: int) -> int | None:
    """A whole number from ``low`` (inclusive) to ``high`` (exclusive); None for other texts."""
    text = metadata.get(PREFIX + key, "")
    if not _WHOLE.fullmatch(text) or not low <= int(text) < high:
        return None
    return int(text)


def _number(metadata: Mapping[str, str], key: str) -> float | None:
    text = metadata.get(PREFIX + key, "")
    # Python reads these as numbers, pylance does not, and ignores the option.
    if "_" in text or text != text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return None
