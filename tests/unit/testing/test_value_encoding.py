"""The contract of encodings of values accepts what keeps it, of any type."""

from __future__ import annotations

import pyarrow as pa

from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core_testing.encodings.value_encoding import ValueEncodingTests


def encode(values: pa.Array) -> pa.Buffer:
    batch = pa.record_batch([values], ["values"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def decode(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    (batch,) = pa.ipc.open_stream(data)
    return batch.column(0)


SPEC = ValueEncodingSpec(
    key="/example.org/arrow",
    name="arrow",
    distribution="lance-core-arrow",
    encoder=encode,
    decoder=decode,
    accepts=lambda type_: True,
)


class TestArrow(ValueEncodingTests):
    spec = SPEC

    def types(self) -> list[pa.DataType]:
        return [pa.bool_(), pa.large_string(), pa.binary(3), pa.list_(pa.uint8(), 3)]
