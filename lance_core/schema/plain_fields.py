"""The fields of a wide flat schema as columns, without an object for each field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.schema import logical_type
from lance_core.schema.field import Field


class PlainFields(NamedTuple):
    """Top-level fields of simple types, without children and metadata; arrays of one length.

    ``text`` is ASCII and contains the names at the offsets ``starts``, with ``sizes`` bytes.
    ``ids`` are not negative and unique, ``types`` are indices of the keys of
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
        texts = list(logical_type.SIMPLE)
        columns = zip(
            *(self.names(), self.types.tolist(), self.nullable.tolist()),
            *(self.ids.tolist(), self.encodings.tolist()),
            strict=True,
        )
        return tuple(
            [
                Field(name, texts[type_], nullable, id_, encoding=encoding)
                for name, type_, nullable, id_, encoding in columns
            ]
        )

    def to_arrow(self) -> list[pa.Field]:
        """The Arrow fields, which are the same for users and in files."""
        types = list(logical_type.SIMPLE.values())
        may_be_null = self.nullable | (self.types == types.index(pa.null()))
        columns = zip(self.names(), self.types.tolist(), may_be_null.tolist(), strict=True)
        return [pa.field(name, types[type_], nullable) for name, type_, nullable in columns]
