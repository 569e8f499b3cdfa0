"""What the metadata of a field asks of the encodings of its values, in 2.1 and 2.2 files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_PREFIX = "lance-encoding:"


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The wishes for a field; None where there is none.

    ``compression`` is ``zstd``, ``lz4``, ``fsst`` or ``none``; ``level`` belongs to it.
    ``structural_encoding`` is ``miniblock`` or ``fullzip``; ``minichunk_size`` are bytes.
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
    packed: bool = False

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> FieldOptions:
        """The options of a field with this metadata."""

        def text(key: str) -> str | None:
            return metadata.get(_PREFIX + key)

        def whole(key: str) -> int | None:
            try:
                return int(metadata[_PREFIX + key])
            except (KeyError, ValueError):
                return None

        def number(key: str) -> float | None:
            try:
                return float(metadata[_PREFIX + key])
            except (KeyError, ValueError):
                return None

        return cls(
            compression=text("compression"),
            level=whole("compression-level"),
            rle_threshold=number("rle-threshold"),
            bss=text("bss"),
            dict_divisor=whole("dict-divisor"),
            dict_size_ratio=number("dict-size-ratio"),
            dict_values_compression=text("dict-values-compression"),
            dict_values_level=whole("dict-values-compression-level"),
            structural_encoding=(text("structural-encoding") or "").lower() or None,
            minichunk_size=whole("minichunk-size"),
            packed=_PREFIX + "packed" in metadata or "packed" in metadata,
        )
