"""Validate the message of a page against one file version (message ``PageLayout``).

A feature of a later version in a file is corruption. The reference implementation rejects such a
file before it reads any page, and so does this module. It checks only the message and the positions
of buffers; decoders check the content of buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import (
        CompressiveEncoding,
        ConstantLayout,
        Flat,
        MiniBlockLayout,
        PageLayout,
    )
    from lance_core.byte_ranges import ByteRange

BUFFER_ALIGNMENT = 64
_MAX_NESTING = 16

_INNER: dict[str, tuple[str, ...]] = {
    "out_of_line_bitpacking": ("values",),
    "fsst": ("values",),
    "dictionary": ("indices", "items"),
    "rle": ("values", "run_lengths"),
    "byte_stream_split": ("values",),
    "general": ("values",),
    "fixed_size_list": ("values",),
    "packed_struct": ("values",),
    "variable": ("offsets",),
}
"""For each encoding, the names of the encodings that it must contain."""

_valid: dict[tuple[int, FileVersion], PageLayout] = {}
"""Messages that are known to be valid, by id and version: most pages share one of few messages."""

_MAX_VALID = 1024

_LATER = frozenset({"range", "delta"})
"""Encodings that are recognised only to reject them with a clear error."""


def check_page(layout: PageLayout, buffers: Sequence[ByteRange], version: FileVersion) -> None:
    """Raise `CorruptFileError` unless a file of ``version`` (2.1 or 2.2) may have such a page."""
    for buffer in buffers:
        if buffer.start % BUFFER_ALIGNMENT:
            raise CorruptFileError(
                f"a buffer at {buffer.start}, which is not a multiple of {BUFFER_ALIGNMENT}",
                offset=buffer.start,
            )
    key = id(layout), version
    if _valid.get(key) is not layout:
        _check_layout(layout, version, 0)
        if len(_valid) >= _MAX_VALID:
            _valid.clear()
        _valid[key] = layout


def _check_layout(layout: PageLayout, version: FileVersion, depth: int) -> None:
    name = layout.WhichOneof("layout")
    if name == "mini_block_layout":
        _check_mini_block(layout.mini_block_layout, version)
    elif name == "constant_layout":
        _check_constant(layout.constant_layout, version)
    elif name == "full_zip_layout":
        _check_inner(layout.full_zip_layout, ("value_compression",), version, 0)
    elif name == "blob_layout" and depth < _MAX_NESTING:
        _check_layout(layout.blob_layout.inner_layout, version, depth + 1)
    else:
        raise CorruptFileError(f"a page of a {version} file has no layout", field="PageLayout")


def _check_mini_block(message: MiniBlockLayout, version: FileVersion) -> None:
    if message.has_large_chunk != (version >= FileVersion.V2_2):
        size = "large" if message.has_large_chunk else "small"
        raise CorruptFileError(f"a {version} file has {size} chunks", field="has_large_chunk")
    _check_inner(message, ("value_compression",), version, 0)
    _check_present(message, ("rep_compression", "def_compression", "dictionary"), version)


def _check_constant(message: ConstantLayout, version: FileVersion) -> None:
    if version < FileVersion.V2_2:
        for name in ("inline_value", "rep_compression", "def_compression"):
            if message.HasField(name):
                raise CorruptFileError(
                    f"a constant page in a {version} file has {name}, which exists only from 2.2"
                )
    _check_present(message, ("rep_compression", "def_compression"), version)


def _check_present(message: Any, names: Sequence[str], version: FileVersion) -> None:
    """Check those of the encodings ``names`` that are present."""
    for name in names:
        if message.HasField(name):
            _check_encoding(getattr(message, name), version, 0)


def _check_inner(message: Any, names: Sequence[str], version: FileVersion, depth: int) -> None:
    """Check the encodings ``names``, all of which must be present."""
    for name in names:
        if not message.HasField(name):
            raise CorruptFileError(
                f"the message {message.DESCRIPTOR.name} has no {name}", field=name
            )
        _check_encoding(getattr(message, name), version, depth)


def _check_encoding(encoding: CompressiveEncoding, version: FileVersion, depth: int) -> None:
    key = encoding.WhichOneof("compression")
    if key is None:
        raise CorruptFileError("the encoding of the values is missing")
    if key in _LATER:
        raise CorruptFileError(f"a {version} file cannot contain encoding {key!r} here")
    if depth > _MAX_NESTING:
        raise CorruptFileError(f"encodings are nested more than {_MAX_NESTING} levels deep")
    message = getattr(encoding, key)
    if key == "variable_packed_struct":
        if version < FileVersion.V2_2:
            raise CorruptFileError(f"a {version} file cannot contain encoding {key!r} here")
        for field in message.fields:
            _check_inner(field, ("value",), version, depth + 1)
        return
    # Nested fixed-size lists count as one encoding; their decoder limits their depth.
    deeper = depth if key == "fixed_size_list" else depth + 1
    _check_inner(message, _INNER.get(key, ()), version, deeper)
    if key == "variable" and message.offsets.WhichOneof("compression") != "flat":
        raise CorruptFileError("the encoding of the offsets must be flat", field="Variable.offsets")
    if key == "rle":
        _check_plain(message.values)
        if _check_plain(message.run_lengths).bits_per_value != 8:
            raise CorruptFileError("the lengths of runs must have 8 bits", field="Rle")


def _check_plain(encoding: CompressiveEncoding) -> Flat:
    """Raise `CorruptFileError` unless an encoding inside a run encoding is flat, uncompressed."""
    if encoding.WhichOneof("compression") != "flat" or encoding.flat.HasField("data"):
        raise CorruptFileError("the encoding of the run values must be flat", field="Rle")
    return encoding.flat
