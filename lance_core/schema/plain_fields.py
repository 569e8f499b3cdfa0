"""The fields of a wide flat schema as columns, without an object for each field."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.schema import logical_type
from lance_core.schema.field import Field
from lance_core.schema.proto import fields_to_proto

_TEXTS = list(logical_type.SIMPLE)
_TYPES = list(logical_type.SIMPLE.values())
_CODES = {type_: code for code, type_ in enumerate(_TYPES)}
_ENCODINGS = np.array(list(map(logical_type.encoding_of, _TEXTS)))
_WIDTHS = np.array([type_.bit_width if pa.types.is_primitive(type_) else 0 for type_ in _TYPES])
_NULL = _CODES[pa.null()]
_MAX_NAME_BYTES = 0x7F


class PlainFields(NamedTuple):
    """Top-level fields of simple types, without children and metadata; arrays of one length.

    ``text`` is ASCII and contains the names at the offsets ``starts``, with ``sizes`` bytes, at
    most 127. ``ids`` are not negative and unique, ``types`` are indices of the keys of
    `logical_type.SIMPLE`.
    """

    text: bytes
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.integer]
    ids: npt.NDArray[np.int64]
    types: npt.NDArray[np.int64]
    nullable: npt.NDArray[np.bool_]
    encodings: npt.NDArray[np.integer]

    def names(self) -> list[str]:
        """The name of each field."""
        text, ends = self.text.decode("ascii"), self.starts + self.sizes
        return [
            text[start:end] for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)
        ]

    def fields(self) -> tuple[Field, ...]:
        """The same fields as objects."""
        columns = zip(
            *(self.names(), self.types.tolist(), self.nullable.tolist()),
            *(self.ids.tolist(), self.encodings.tolist()),
            strict=True,
        )
        return tuple(
            [
                Field(name, _TEXTS[type_], nullable, id_, encoding=encoding)
                for name, type_, nullable, id_, encoding in columns
            ]
        )

    def select(self, positions: npt.NDArray[np.intp]) -> PlainFields:
        """The fields at ``positions``."""
        columns: list[npt.NDArray[Any]] = [column[positions] for column in self[1:]]
        return PlainFields(self.text, *columns)

    def without(self, ids: Iterable[int]) -> PlainFields:
        """The fields without those with one of the ``ids``."""
        return self.select(np.flatnonzero(~np.isin(self.ids, list(ids))))

    def first_of_types(self) -> tuple[Field, ...]:
        """The first field of each type, in order."""
        _, firsts = np.unique(self.types, return_index=True)
        return self.select(np.sort(firsts)).fields()

    def row_bits(self) -> tuple[int, int]:
        """Bits of a row in the columns of fixed width, and the number of the other columns."""
        widths = _WIDTHS[self.types]
        is_fixed = widths > 0
        return int((widths + 1).sum(where=is_fixed)), len(widths) - int(is_fixed.sum())

    def serialized(self) -> bytes:
        """The serialized ``lance.file.Field`` messages, as field 1 of another message."""
        kinds = zip(
            self.types.tolist(), self.nullable.tolist(), self.encodings.tolist(), strict=True
        )
        ends = [_end(*kind) for kind in kinds]
        stops = (self.starts + self.sizes).tolist()
        spans = zip(self.starts.tolist(), stops, self.ids.tolist(), ends, strict=True)
        text = self.text
        messages = [
            b"\x12%c%b%b%b" % (stop - start, text[start:stop], _id(id_), end)
            for start, stop, id_, end in spans
        ]
        return b"".join([b"\n%b%b" % (_varint(len(message)), message) for message in messages])

    def to_arrow(self) -> list[pa.Field]:
        """The Arrow fields, which are the same for users and in files."""
        may_be_null = self.nullable | (self.types == _NULL)
        columns = zip(self.names(), self.types.tolist(), may_be_null.tolist(), strict=True)
        return [pa.field(name, _TYPES[type_], nullable) for name, type_, nullable in columns]


def plain_from_arrow(schema: pa.Schema, first_id: int) -> PlainFields | None:
    """The fields of new data, with ids from ``first_id`` on.

    None if not all of them are plain, or if a name is one that a schema cannot have.
    """
    names, fields = schema.names, list(schema)
    text = "".join(names)
    if not text.isascii() or "." in text or len(set(names)) < len(names):
        return None
    if any(field.metadata for field in fields):
        return None
    codes = [_CODES.get(type_, -1) for type_ in schema.types]
    types = np.array(codes, np.int64)
    sizes = np.array(list(map(len, names)), np.int64)
    nullable = np.array([field.nullable for field in fields], np.bool_)
    never_null = bool((~nullable & (types == _NULL)).any())  # Arrow has no such field
    if types.min() < 0 or never_null or not 0 < sizes.min() <= sizes.max() <= _MAX_NAME_BYTES:
        return None
    ids = np.arange(first_id, first_id + len(names))
    starts = np.cumsum(sizes) - sizes
    return PlainFields(text.encode(), starts, sizes, ids, types, nullable, _ENCODINGS[types])


def _id(id_: int) -> bytes:
    """The id in a message; 0 is not stored."""
    return b"\x18%b" % _varint(id_) if id_ else b""


@lru_cache(maxsize=256)
def _end(type_: int, nullable: bool, encoding: int) -> bytes:
    """The part of a message after the id."""
    (message,) = fields_to_proto([Field("", _TEXTS[type_], nullable, 0, encoding=encoding)])
    return message.SerializeToString()


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    return bytes((number & 0x7F | 0x80,)) + _varint(number >> 7)
