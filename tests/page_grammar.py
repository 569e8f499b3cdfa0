"""Pages that a 2.1 or 2.2 file may have, and such that it may not, as hand-made messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lance_core._pb.encodings_v2_1_pb2 import (
    BufferCompression,
    CompressiveEncoding,
    ConstantLayout,
    Flat,
    FullZipLayout,
    MiniBlockLayout,
    PageLayout,
    VariablePackedStruct,
)

V2_1 = frozenset({"2.1"})
V2_2 = frozenset({"2.2"})
BOTH = V2_1 | V2_2
NEITHER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """A page; ``allowed``: the versions of files that may have it."""

    name: str
    layout: PageLayout
    allowed: frozenset[str]


Encoding = CompressiveEncoding


def flat(bits: int, compressed: bool = False) -> Encoding:
    message = Flat(bits_per_value=bits)
    if compressed:
        message.data.CopyFrom(BufferCompression(scheme=1))
    return Encoding(flat=message)


def around(key: str, **inner: Encoding) -> Encoding:
    """An encoding of which only what is in it matters."""
    encoding = Encoding()
    message = getattr(encoding, key)
    message.SetInParent()
    for name, one in inner.items():
        getattr(message, name).CopyFrom(one)
    return encoding


def packed(*values: Encoding | None) -> Encoding:
    message = VariablePackedStruct()
    for value in values:
        field = message.fields.add(bits_per_value=64)
        if value is not None:
            field.value.CopyFrom(value)
    return Encoding(variable_packed_struct=message)


def mini_block(large: bool | None = None, **encodings: Encoding) -> Callable[[str], PageLayout]:
    """A page of chunks, small or large, by default as files of a version have them."""

    def make(version: str) -> PageLayout:
        is_large = version == "2.2" if large is None else large
        message = MiniBlockLayout(
            layers=[1], num_buffers=1, num_items=3000, has_large_chunk=is_large, **encodings
        )
        return PageLayout(mini_block_layout=message)

    return make


def constant(**parts: Encoding | bytes | int) -> Callable[[str], PageLayout]:
    return lambda _: PageLayout(constant_layout=ConstantLayout(layers=[3], **parts))


def full_zip(**encodings: Encoding) -> Callable[[str], PageLayout]:
    message = FullZipLayout(
        layers=[1], bits_per_value=64, num_items=3000, num_visible_items=3000, **encodings
    )
    return lambda _: PageLayout(full_zip_layout=message)


def blob(inner: Callable[[str], PageLayout] | None) -> Callable[[str], PageLayout]:
    def make(version: str) -> PageLayout:
        layout = PageLayout()
        layout.blob_layout.layers.append(1)
        if inner is not None:
            layout.blob_layout.inner_layout.CopyFrom(inner(version))
        return layout

    return make


def values(encoding: Encoding) -> Callable[[str], PageLayout]:
    return mini_block(value_compression=encoding)


F64, F32, F16, F8 = flat(64), flat(32), flat(16), flat(8)
PACKED = around("inline_bitpacking")
RUNS = around("rle", values=F64, run_lengths=F8)
WRONG = around("rle", values=F64, run_lengths=F16)

_PAGES: list[tuple[str, Callable[[str], PageLayout], frozenset[str]]] = [
    ("no layout", lambda _: PageLayout(), NEITHER),
    ("layout of drafts", lambda _: PageLayout(sparse_layout=b""), NEITHER),
    ("flat values", values(F64), BOTH),
    ("compressed flat values", values(flat(64, compressed=True)), BOTH),
    ("small chunks", mini_block(False, value_compression=F64), V2_1),
    ("large chunks", mini_block(True, value_compression=F64), V2_2),
    ("chunks without values", mini_block(), NEITHER),
    ("values of no encoding", values(Encoding()), NEITHER),
    ("ranges", values(around("range")), NEITHER),
    ("differences", values(around("delta")), NEITHER),
    ("runs", values(RUNS), BOTH),
    ("runs of u16 lengths", values(WRONG), NEITHER),
    ("runs of packed values", values(around("rle", values=PACKED, run_lengths=F8)), NEITHER),
    ("runs of packed lengths", values(around("rle", values=F64, run_lengths=PACKED)), NEITHER),
    (
        "runs of compressed values",
        values(around("rle", values=flat(64, compressed=True), run_lengths=F8)),
        NEITHER,
    ),
    ("runs without lengths", values(around("rle", values=F64)), NEITHER),
    ("runs without values", values(around("rle", run_lengths=F8)), NEITHER),
    ("flat offsets", values(around("variable", offsets=F32)), BOTH),
    ("packed offsets", values(around("variable", offsets=PACKED)), NEITHER),
    (
        "compressed offsets",
        values(around("variable", offsets=around("general", values=F32))),
        NEITHER,
    ),
    ("no offsets", values(around("variable")), NEITHER),
    ("general", values(around("general", values=F64)), BOTH),
    ("general of nothing", values(around("general")), NEITHER),
    ("general of wrong runs", values(around("general", values=WRONG)), NEITHER),
    ("general of general", values(around("general", values=around("general", values=F64))), BOTH),
    ("fsst", values(around("fsst", values=around("variable", offsets=F32))), BOTH),
    ("fsst of nothing", values(around("fsst")), NEITHER),
    ("packed to nothing", values(around("out_of_line_bitpacking")), NEITHER),
    ("byte streams", values(around("byte_stream_split", values=F64)), BOTH),
    ("byte streams of nothing", values(around("byte_stream_split")), NEITHER),
    ("fixed lists", values(around("fixed_size_list", values=F32)), BOTH),
    ("fixed lists of nothing", values(around("fixed_size_list")), NEITHER),
    ("fixed lists of wrong runs", values(around("fixed_size_list", values=WRONG)), NEITHER),
    ("packed struct", values(around("packed_struct", values=F64)), BOTH),
    ("packed struct of nothing", values(around("packed_struct")), NEITHER),
    ("dictionary", values(around("dictionary", indices=F32, items=F64)), BOTH),
    ("dictionary without items", values(around("dictionary", indices=F32)), NEITHER),
    ("dictionary without indices", values(around("dictionary", items=F64)), NEITHER),
    ("variable packed struct", values(packed(F64)), V2_2),
    ("variable packed struct of a field of nothing", values(packed(None)), NEITHER),
    ("variable packed struct of wrong runs", values(packed(F64, WRONG)), NEITHER),
    ("compressed levels", mini_block(value_compression=F64, def_compression=RUNS), BOTH),
    ("wrong repetition", mini_block(value_compression=F64, rep_compression=WRONG), NEITHER),
    ("wrong definition", mini_block(value_compression=F64, def_compression=WRONG), NEITHER),
    (
        "definition of no encoding",
        mini_block(value_compression=F64, def_compression=Encoding()),
        NEITHER,
    ),
    ("wrong dictionary", mini_block(value_compression=F32, dictionary=WRONG), NEITHER),
    ("zipped values", full_zip(value_compression=F64), BOTH),
    ("zipped nothing", full_zip(), NEITHER),
    ("zipped wrong runs", full_zip(value_compression=WRONG), NEITHER),
    ("zipped variable packed struct", full_zip(value_compression=packed(F64)), V2_2),
    ("nulls", constant(), BOTH),
    ("counts of levels", constant(num_rep_values=1, num_def_values=1), BOTH),
    ("a value", constant(inline_value=b"12345678"), V2_2),
    ("compressed repetition of nulls", constant(rep_compression=F16), V2_2),
    ("compressed definition of nulls", constant(def_compression=F16), V2_2),
    ("wrong definition of nulls", constant(def_compression=WRONG), NEITHER),
    ("blobs", blob(values(around("packed_struct", values=flat(128)))), BOTH),
    ("blobs nowhere", blob(None), NEITHER),
    ("blobs in small chunks", blob(mini_block(False, value_compression=F64)), V2_1),
    ("blobs in large chunks", blob(mini_block(True, value_compression=F64)), V2_2),
    ("blobs in wrong runs", blob(values(WRONG)), NEITHER),
]


def cases(version: str) -> list[Case]:
    """Every page, as a file of ``version`` would have it."""
    return [Case(name, make(version), allowed) for name, make, allowed in _PAGES]
