"""An encoding that returns or raises anything gives an error that names it, and no wrong value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, LanceError, PluginError
from lance_core.hookspecs import ValueEncodingSpec, hookimpl
from tests.each_case import each_case
from tests.liars.lies import ERRORS, WRONG_VALUES, Lie, no_lie

FIELD = pa.field("x", pa.int64(), metadata={"lance-encoding:encoding": "liar"})
TABLE = pa.table({"x": [3, 1, 4, 1, 5]}, pa.schema([FIELD]))


class Plugin:
    """Offers the liar."""

    def __init__(self) -> None:
        self.lie = no_lie()

    @hookimpl
    def lance_encodings(self) -> list[ValueEncodingSpec]:
        def encode(values: Any) -> Any:
            plain = struct.pack(f"<{len(values)}q", *values.to_pylist())
            return self.lie.end("encoder", lambda: plain)

        def decode(data: Any, kind: Any, count: int) -> Any:
            return self.lie.end("decoder", lambda: pa.Array.from_buffers(kind, count, [None, data]))

        return [
            ValueEncodingSpec(
                key="/example.org/liar",
                name="liar",
                distribution="lance-core-liar",
                encoder=encode,
                decoder=decode,
                accepts=lambda kind: self.lie.end("accepts", lambda: kind == pa.int64()),
            )
        ]


def _use(uri: str, writes: bool) -> None:
    if writes:
        lance.write_dataset(TABLE, uri, mode="append")
    else:
        lance.dataset(uri).to_table()


ANSWERS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda _, make=make: make() for name, make in WRONG_VALUES.items()},
    **{name: lambda _, make=make: make() for name, make in ERRORS.items()},
    "too few values": lambda values: values[:-1],
    "other values": lambda values: pa.array(["a"] * 5),
}
RIGHT = {"encoder": ("bytes", "too few values"), "accepts": ("True", "too few values")}


@each_case(
    "method, name",
    [
        (method, name)
        for method in ("encoder", "decoder", "accepts")
        for name in ANSWERS
        if name not in RIGHT.get(method, ())
    ],
)
def test_no_answer_of_an_encoding_is_a_wrong_value_or_an_error_without_its_name(
    plugin: Plugin, tmp_path: Path, method: str, name: str
) -> None:
    uri = str(tmp_path / "table")
    lance.write_dataset(TABLE, uri)
    plugin.lie = Lie(method, ANSWERS[name], always=True)
    try:
        with pytest.raises((LanceError, MemoryError)) as ended:
            _use(uri, writes=method != "decoder")
    finally:
        plugin.lie = no_lie()
    if not isinstance(ended.value, MemoryError):
        assert "'/example.org/liar' of lance-core-liar" in str(ended.value) or name == "False"
        assert "field 'x'" in str(ended.value)
        if method == "decoder":
            assert isinstance(ended.value, CorruptFileError)
            assert ended.value.path.endswith(".lance")
        elif (method, name) != ("accepts", "False"):
            assert isinstance(ended.value, PluginError)
            assert f"{method} " in str(ended.value)
    assert lance.dataset(uri).to_table().equals(TABLE)
