"""Small files that claim to be huge: pages made by hand, in place of those of a golden file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from google.protobuf import text_format

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from tests.fuzz.container import Parsed
from tests.fuzz.page_mutations import set_layout
from tests.golden import archive

_ALIGNMENT = 64

Buffers = Sequence[bytes]


def file_of(like: str, version: str, layout: str | bytes, buffers: Buffers, rows: int) -> bytes:
    """A file with the schema of the golden file ``like`` and one page in each column.

    ``layout`` is the text of a ``PageLayout``, or the message as it is stored.
    """
    return file_of_pages(like, version, [(layout, buffers, rows)])


def file_of_pages(
    like: str, version: str, pages: Sequence[tuple[str | bytes, Buffers, int]]
) -> bytes:
    """The same with several pages: the layout, the buffers and the rows of each."""
    parsed = Parsed(archive.stored(archive.PYLANCE, like, version))
    data = bytearray()
    first = parsed.columns[0].pages[0]
    stored = []
    for layout, buffers, rows in pages:
        page = type(first)()
        page.CopyFrom(first)
        del page.buffer_offsets[:], page.buffer_sizes[:]
        for buffer in buffers:
            page.buffer_offsets.append(len(data))
            page.buffer_sizes.append(len(buffer))
            data += buffer
            data += bytes(-len(data) % _ALIGNMENT)
        page.length = rows
        is_text = isinstance(layout, str)
        set_layout(page, text_format.Parse(layout, PageLayout()) if is_text else layout)
        stored.append(page)
    for column in parsed.columns:
        del column.pages[:]
        column.pages.extend(stored)
    parsed.data = bytes(data)
    parsed.descriptor.length = sum(rows for _, _, rows in pages)
    return parsed.build()


def words(version: str, *chunks: tuple[int, int]) -> bytes:
    """Chunk words for the bytes and the logarithm of the values of each chunk."""
    unit = "<u2" if version == "2.1" else "<u4"
    return np.array([(size // 8 - 1) << 4 | log for size, log in chunks], unit).tobytes()


def chunk(version: str, *parts: bytes, levels: int = 0, definition: bytes | None = None) -> bytes:
    """A chunk of value buffers, with definition levels if there are any."""
    large = "<u2" if version == "2.1" else "<u4"
    head = np.array([levels], "<u2").tobytes()
    if definition is not None:
        head += np.array([len(definition)], "<u2").tobytes()
    head += np.array([len(part) for part in parts], large).tobytes()
    pieces = [head, *([] if definition is None else [definition]), *parts]
    return b"".join(piece + b"\xfe" * (-len(piece) % 8) for piece in pieces)


def mini_block(values: str, items: int, version: str = "2.2", more: str = "") -> str:
    """The layout of a mini-block page, without nulls unless ``more`` says so."""
    large = "has_large_chunk: true" if version == "2.2" else ""
    layers = "" if "layers" in more else "layers: REPDEF_ALL_VALID_ITEM"
    buffers = "" if "num_buffers" in more else "num_buffers: 1"
    return (
        f"mini_block_layout {{ value_compression {{ {values} }} num_items: {items} {layers} "
        f"{buffers} {large} {more} }}"
    )


def zipped(values: str, items: int, width: str) -> str:
    """The layout of a full-zip page without nulls."""
    return (
        f"full_zip_layout {{ value_compression {{ {values} }} num_items: {items} "
        f"num_visible_items: {items} layers: REPDEF_ALL_VALID_ITEM {width} }}"
    )


def flat(bits: int) -> str:
    return f"flat {{ bits_per_value: {bits} }}"


def general(scheme: str, values: str) -> str:
    name = f"COMPRESSION_ALGORITHM_{scheme.upper()}"
    return f"general {{ compression {{ scheme: {name} }} values {{ {values} }} }}"


VARIABLE = "variable { offsets { flat { bits_per_value: 32 } } }"


def zstd(size: int, claimed: int | None = None) -> bytes:
    """``size`` zeros compressed, behind a prefix that claims as many or others."""
    body = pa.Codec("zstd").compress(bytes(size), asbytes=True)
    return np.array([size if claimed is None else claimed], "<u8").tobytes() + body


def lz4(size: int, claimed: int | None = None) -> bytes:
    body = pa.Codec("lz4_raw").compress(bytes(size), asbytes=True)
    return np.array([size if claimed is None else claimed], "<u4").tobytes() + body


def zeros_frame(mebibytes: int) -> bytes:
    """A zstd frame of zeros that does not say how many."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for _ in range(mebibytes):
            stream.write(bytes(1 << 20))
    return sink.getvalue().to_pybytes()


MOST = (1 << 64) - 1
VALID = "layers: REPDEF_ALL_VALID_ITEM"
NULLABLE = "layers: REPDEF_NULLABLE_ITEM"
LISTS = "layers: REPDEF_ALL_VALID_ITEM layers: REPDEF_NULL_AND_EMPTY_LIST"
ONE = chunk("2.2", bytes(64))
ONE_WORD = words("2.2", (len(ONE), 0))


def u64(*numbers: int) -> bytes:
    return np.array(numbers, "<u8").tobytes()


def u32(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def ints(layout: str | bytes, *buffers: bytes, rows: int = 16) -> bytes:
    return file_of("flat int32", "2.2", layout, buffers, rows)


def texts(layout: str, *buffers: bytes, rows: int = 16) -> bytes:
    return file_of("strings", "2.2", layout, buffers, rows)


def lists(layout: str, *buffers: bytes, rows: int = 16) -> bytes:
    return file_of("lists never empty", "2.2", layout, buffers, rows)


def one_chunk(values: str, *parts: bytes, rows: int = 16, more: str = "") -> bytes:
    """A column of integers that is one chunk of value buffers."""
    whole = chunk("2.2", *parts)
    number = "" if len(parts) == 1 else f"num_buffers: {len(parts)}"
    layout = mini_block(values, rows, more=f"{number} {more}")
    return ints(layout, words("2.2", (len(whole), 0)), whole, rows=rows)


def one_text_chunk(values: str, data: bytes, rows: int = 16) -> bytes:
    whole = chunk("2.2", data)
    return texts(mini_block(values, rows), words("2.2", (len(whole), 0)), whole, rows=rows)


def dictionary(
    encoding: str, count: int, data: bytes, like: str = "dictionary of strings"
) -> bytes:
    """A dictionary of ``count`` items, of which each of 16 rows has the first."""
    more = f"dictionary {{ {encoding} }} num_dictionary_items: {count}"
    return file_of(like, "2.2", mini_block(flat(32), 16, more=more), (ONE_WORD, ONE, data), 16)


def vectors(encoding: str, width: str, rows: int = 16) -> bytes:
    layout = zipped(encoding, min(rows, (1 << 32) - 1), width)
    return file_of("zipped vectors", "2.2", layout, (bytes(1 << 10),), rows)


def levels(encoding: str, count: int, data: bytes, rows: int = 16) -> bytes:
    """A page of nulls with ``count`` compressed levels."""
    layout = (
        f"constant_layout {{ {LISTS} rep_compression {{ {encoding} }} num_rep_values: {count} }}"
    )
    return lists(layout, data, b"", rows=rows)


def constant(rows: int, layers: str = VALID) -> bytes:
    layout = f'constant_layout {{ {layers} inline_value: "\\001\\000\\000\\000" }}'
    return ints(layout, rows=rows)


def varint(number: int) -> bytes:
    """A number as protobuf stores it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def message(field: int, content: bytes) -> bytes:
    """A message as the content of ``field`` of another one."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def nested(times: int) -> bytes:
    """A page whose encodings are within each other."""
    page = text_format.Parse(mini_block(flat(32), 16), PageLayout()).mini_block_layout
    encoding = page.value_compression.SerializeToString()
    for _ in range(times):
        encoding = message(10, message(3, encoding))  # general compression of what is inside
    page.ClearField("value_compression")
    return ints(message(1, message(3, encoding) + page.SerializeToString()), ONE_WORD, ONE)


def schema_of(fields: int, parent: Callable[[int], int]) -> bytes:
    """A file of so many fields, each with the parent that a function of its number gives."""
    parsed = Parsed(archive.stored(archive.PYLANCE, "structs of structs", "2.2"))
    schema = parsed.descriptor.schema
    struct = next(field for field in schema.fields if field.logical_type == "struct")
    del schema.fields[:]
    for number in range(fields):
        field = schema.fields.add()
        field.CopyFrom(struct)
        field.name, field.id, field.parent_id = f"f{number}", number, parent(number)
    return parsed.build()
