"""Check what an array encoding of a plugin returns, so that its defects give no wrong rows.

While reading, anything but what `lance_core.encodings.v2_0.base` says, and any error of Python, is
a `CorruptFileError`, because damaged bytes cause such errors as well. While writing it is a
`PluginError`. Both name the encoding and its plugin.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, RangeArrays
from lance_core.encodings.plugin_values.foreign_blocks import array_problem
from lance_core.encodings.v2_0.base import ArrayEncoding, ArrayPlan, EncodeScope, PlanScope
from lance_core.error_texts.plugin_calls import CheckedCalls, type_of
from lance_core.errors import CorruptFileError, PluginError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.registry import EncodingSpec

_RANGES = "lists of ByteRange"
_ARRAYS = "a list of arrays"


def checked_array_encoding(spec: EncodingSpec, plugin: str) -> EncodingSpec:
    """``spec`` with a decoder and an encoder whose results are checked.

    ``plugin`` names the encoding and its plugin in errors.
    """
    reads, writes = CheckedCalls(plugin, CorruptFileError), CheckedCalls(plugin, PluginError)
    encoder = spec.encoder

    def decode(message: Any, scope: PlanScope) -> ArrayPlan:
        plan: ArrayPlan = reads("the decoder", ArrayPlan, lambda: spec.decoder(message, scope))
        if type(plan).__module__.startswith(_OWN_PLANS):  # other encodings look at their class
            return plan
        return CheckedPlan(plan, scope, reads)

    def encode(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
        assert encoder is not None
        before = len(scope.buffers)
        encoded: ArrayEncoding = writes("the encoder", ArrayEncoding, lambda: encoder(array, scope))
        if encoded.WhichOneof("array_encoding") is None:
            raise writes.false("the encoder", "an ArrayEncoding without an alternative")
        for buffer in scope.buffers[before:]:
            if not isinstance(buffer, pa.Buffer):
                raise writes.false("the encoder", f"with a buffer that is {type_of(buffer)}")
        return encoded

    return replace(spec, decoder=decode, encoder=None if encoder is None else encode)


_OWN_PLANS = __name__.rpartition(".")[0] + "."


class CheckedPlan(ArrayPlan):
    """Forwards to ``inner``, a plan of a plugin, and checks what it requests and returns."""

    __slots__ = ("_calls", "_scope", "inner")

    def __init__(self, inner: ArrayPlan, scope: PlanScope, calls: CheckedCalls) -> None:
        self.inner = inner
        self._scope = scope
        self._calls = calls

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        calls, what = self._calls, "decode of its plan"
        decoding = calls(what, Generator, lambda: self.inner.decode(rows, context))
        arrays = yield from self._run(decoding)
        if not isinstance(arrays, Sequence) or isinstance(arrays, str | bytes):
            raise calls.wrong(what, arrays, _ARRAYS)
        for array in arrays:
            if not isinstance(array, pa.Array):
                raise calls.wrong(what, array, _ARRAYS)
            problem = array_problem(array, self._scope.type, len(array))
            if problem is not None:
                raise calls.false(what, problem)
        count = sum(map(len, arrays))
        if count != len(rows):
            raise calls.false(what, f"{count} values instead of {len(rows)}")
        return list(arrays)

    def _run(self, decoding: Generator[Any, Any, Any]) -> Decoding[Any]:
        """The result of a decoding of the plugin, which requests ranges."""
        buffers: Sequence[pa.Buffer] | None = None
        while True:
            step = self._calls("decode of its plan", _Step, partial(_advance, decoding, buffers))
            if step.is_last:
                return step.value
            buffers = yield self._checked_ranges(step.value)

    def _checked_ranges(self, ranges: Any) -> Sequence[ByteRange]:
        if isinstance(ranges, RangeArrays):
            return ranges
        if not isinstance(ranges, Sequence) or isinstance(ranges, str | bytes):
            raise self._calls.wrong("a request of its plan", ranges, _RANGES)
        for requested in ranges:
            if not isinstance(requested, ByteRange):
                raise self._calls.wrong("a request of its plan", requested, _RANGES)
            if not all(isinstance(edge, int) for edge in requested):
                raise self._calls.wrong(
                    "a request of its plan", requested.start, "numbers of bytes"
                )
            if not 0 <= requested.start <= requested.stop <= self._scope.file_size:
                raise self._calls.false(
                    "a request of its plan",
                    f"bytes {requested.start} to {requested.stop} of the file",
                )
        return ranges


class _Step(NamedTuple):
    """What a generator has yielded, or its result if ``is_last``."""

    value: Any
    is_last: bool


def _advance(running: Generator[Any, Any, Any], buffers: Sequence[pa.Buffer] | None) -> _Step:
    try:
        return _Step(running.send(buffers), is_last=False)
    except StopIteration as done:
        return _Step(done.value, is_last=True)
