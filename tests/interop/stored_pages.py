"""Pages of files that pylance wrote, cut into the bytes that compressive encodings are about."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from lance_core.datafile.column_metadata import ColumnParser
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import MiniBlockChunks
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.encodings.version import FileVersion
from lance_core.plugins.builtin import lance_encodings

REGISTRY = EncodingRegistry(("built-in", spec) for spec in lance_encodings())


def context(version: str) -> DecodeContext:
    return DecodeContext(0, 0, FileVersion(version), REGISTRY)


@dataclass
class StoredPage:
    """A page: the alternative of its layout, its buffers and its number of rows."""

    layout: Any
    buffers: list[bytes]
    num_rows: int

    @property
    def values(self) -> Any:
        return self.layout.value_compression

    def chunks(self) -> MiniBlockChunks:
        """The value buffers of the chunks of a mini-block page."""
        large, number = self.layout.has_large_chunk, self.layout.num_buffers
        levels = self.layout.HasField("rep_compression") + self.layout.HasField("def_compression")
        starts: list[list[int]] = []
        sizes, counts = [], []
        at, left = 0, self.layout.num_items
        words = np.frombuffer(self.buffers[0], "<u4" if large else "<u2").tolist()
        for chunk, word in enumerate(words):
            is_last = chunk == len(words) - 1
            counts.append(left if is_last else 1 << (word & 15))
            left -= counts[-1]
            place = at + 2
            parts = np.frombuffer(self.buffers[1], "<u2", levels, place).tolist()
            place += 2 * levels
            width = 4 if large else 2
            own = np.frombuffer(self.buffers[1], f"<u{width}", number, place).tolist()
            place = aligned(place + width * number)
            for size in parts:
                place = aligned(place + size)
            starts.append([])
            sizes.append(own)
            for size in own:
                starts[-1].append(place)
                place = aligned(place + size)
            at += ((word >> 4) + 1) * 8
        assert at == len(self.buffers[1])
        data = np.frombuffer(self.buffers[1], np.uint8)
        return MiniBlockChunks(data, np.array(starts).T, np.array(sizes).T, np.array(counts))

    def definition_blocks(self) -> list[tuple[bytes, int]]:
        """Definition levels of each chunk of a page without lists, and how many there are."""
        large, number = self.layout.has_large_chunk, self.layout.num_buffers
        blocks, at = [], 0
        for word in np.frombuffer(self.buffers[0], "<u4" if large else "<u2").tolist():
            count, size = np.frombuffer(self.buffers[1], "<u2", 2, at).tolist()
            place = aligned(at + 4 + (4 if large else 2) * number)
            blocks.append((self.buffers[1][place : place + size], count))
            at += ((word >> 4) + 1) * 8
        return blocks

    def payload(self) -> FixedWidth | VariableWidth:
        """The bytes of each value of a full-zip page without nulls and lists."""
        count = self.layout.num_items
        if self.layout.WhichOneof("details") == "bits_per_value":
            return FixedWidth(pa.py_buffer(self.buffers[0]), self.layout.bits_per_value, count)
        assert self.layout.bits_per_offset == 32
        values, at = [], 0
        for _ in range(count):
            size = int.from_bytes(self.buffers[0][at : at + 4], "little")
            values.append(self.buffers[0][at + 4 : at + 4 + size])
            at += 4 + size
        assert at == len(self.buffers[0])
        offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
        return VariableWidth(offsets, pa.py_buffer(b"".join(values)))

    def chunk_parts(self) -> list[list[bytes]]:
        """Of each value buffer the bytes that each chunk has."""
        return parts_of(self.chunks())


def parts_of(chunks: MiniBlockChunks) -> list[list[bytes]]:
    return [
        [chunks.data[a : a + n].tobytes() for a, n in zip(starts, sizes, strict=True)]
        for starts, sizes in zip(chunks.starts, chunks.sizes, strict=True)
    ]


def aligned(place: int) -> int:
    return -(-place // 8) * 8


def stored(
    array: pa.Array, path: Path, version: str, metadata: dict[str, str] | None = None
) -> list[StoredPage]:
    """What pylance makes of a column, its metadata without the prefix ``lance-encoding:``."""
    keys = {f"lance-encoding:{key}": value for key, value in (metadata or {}).items()}
    schema = pa.schema([pa.field("x", array.type, metadata=keys)])
    table = pa.Table.from_arrays([array], schema=schema)
    lance.write_dataset(table, str(path), data_storage_version=version, mode="overwrite")
    return pages_of(path, version)


def pages_of(path: Path, version: str) -> list[StoredPage]:
    """The pages of the first column of the only data file of the newest version of a table."""
    whole = _data_file(path).read_bytes()
    (table_start,) = struct.unpack_from("<Q", whole, len(whole) - 32)
    position, length = struct.unpack_from("<QQ", whole, table_start)
    parser = ColumnParser(FileVersion(version), len(whole))
    column = parser.parse(whole[position : position + length])
    pages = []
    for page in column.pages:
        name = page.encoding.WhichOneof("layout")  # type: ignore[union-attr]
        buffers = [whole[place.start : place.stop] for place in page.buffers]
        pages.append(StoredPage(getattr(page.encoding, name), buffers, page.num_rows))
    return pages


def _data_file(path: Path) -> Path:
    files = list((path / "data").iterdir())
    if len(files) > 1:  # of older versions, too
        (newest,) = lance.dataset(str(path)).get_fragments()[0].data_files()
        return path / "data" / newest.path
    return files[0]
