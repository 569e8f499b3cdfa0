"""Codecs and kernels that return or raise anything give errors that name them, no wrong values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.kernels import LOOPS, NUMPY, KernelSpec
from lance_core.encodings.kernels.checked_kernels import checked_kernels
from lance_core.encodings.registry import EncodingFamily, EncodingRegistry, EncodingSpec
from lance_core.encodings.v2_0.base import ArrayPlan
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, LanceError, PluginError
from lance_core.hookspecs import hookimpl
from lance_core.plugins import get_manager
from lance_core.plugins.builtin import lance_encodings
from lance_core.plugins.checked_results import encodings_of
from lance_core.plugins.loading import Contribution, PluginSource, load
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.examples import share
from tests.liars.lies import ERRORS, WRONG_VALUES, Lie, no_lie
from tests.unit.encodings.plugin_values.test_value_encoding import field

NUMBERS = pa.array(np.random.default_rng(1).integers(0, 900, 2000))


class LyingPlan(ArrayPlan):
    """A plan whose generator, requests and result may be wrong."""

    def __init__(self, inner: ArrayPlan, end: Callable[[str, Callable[[], Any]], Any]) -> None:
        self.inner = inner
        self.end = end

    def decode(self, rows: Any, context: Any) -> Any:
        return self.end("plan", lambda: self._decode(rows, context))

    def _decode(self, rows: Any, context: Any) -> Any:
        decoding = self.inner.decode(rows, context)
        buffers = None
        while True:
            try:
                ranges = decoding.send(buffers)
            except StopIteration as done:
                return self.end("result", partial(lambda value: value, done.value))
            buffers = yield self.end("request", partial(lambda value: value, ranges))


class Plugin:
    """Offers one of the built-in encodings, and tells a lie at one of its functions."""

    def __init__(self, key: str, family: EncodingFamily) -> None:
        self.lie = no_lie()
        self.honest = next(s for s in lance_encodings() if (s.key, s.family) == (key, family))

    @hookimpl
    def lance_encodings(self) -> list[EncodingSpec]:
        names = ("decoder", "encoder", "take", "scalar_at")
        lying = {name: self._lying(name) for name in names if getattr(self.honest, name)}
        return [dataclasses.replace(self.honest, **lying)]

    def _lying(self, name: str) -> Callable[..., Any]:
        function = getattr(self.honest, name)

        def call(*arguments: Any) -> Any:
            answer = self.lie.end(name, lambda: function(*arguments))
            if name == "decoder" and isinstance(answer, ArrayPlan):
                return LyingPlan(answer, self.lie.end)
            if name == "scalar_at" and callable(answer):
                return lambda *where: self.lie.end("scalar", lambda: answer(*where))
            return answer

        return call

    def registry(self) -> EncodingRegistry:
        contribution = load(PluginSource("liar", "lance-core-liar 1.0", lambda: self))
        assert isinstance(contribution, Contribution)
        key = self.honest.key, self.honest.family
        others = [spec for spec in lance_encodings() if (spec.key, spec.family) != key]
        return EncodingRegistry(("some", s) for s in [*others, *encodings_of(contribution)])


def _write(plugin: Plugin, version: FileVersion) -> StoredField:
    return StoredField.write(field(NUMBERS.type, {}), [NUMBERS], plugin.registry(), version)


def _use(written: StoredField) -> None:
    """Read all rows, some, and one."""
    count = len(NUMBERS)
    for rows in (RowRange(0, count), RowIndices(np.arange(0, count, 190)), RowRange(3, 4)):
        assert pa.concat_arrays(written.read(rows)).equals(NUMBERS.take(pa.array(rows.numbers)))


ANSWERS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda _, make=make: make() for name, make in WRONG_VALUES.items()},
    **{name: lambda _, make=make: make() for name, make in ERRORS.items()},
    "fewer": lambda honest: _fewer(honest),  # noqa: PLW0108  # it is defined below
    "others": lambda honest: [pa.array(["a"] * sum(map(len, honest)))],
    "outside of the file": lambda honest: [type(one)(one.start, one.stop + 4096) for one in honest],
}
SPECIAL = {"fewer", "others", "outside of the file"}
METHODS = {
    "decoder": set(),
    "encoder": set(),
    "plan": set(),
    "result": {"fewer", "others"},
    "request": {"outside of the file"},
}


def _fewer(honest: Any) -> Any:
    """A result that lacks a value."""
    if isinstance(honest, list):
        return [honest[0][:-1], *honest[1:]]
    if hasattr(honest, "counts"):
        return dataclasses.replace(honest, counts=honest.counts - 1)
    return dataclasses.replace(honest, count=honest.count - 1)


def _check(plugin: Plugin, lie: Lie, version: FileVersion) -> None:
    """Write and read while ``plugin`` lies; check the error in which this ends."""
    plugin.lie = no_lie()
    written = _write(plugin, version)
    plugin.lie = lie
    with pytest.raises((LanceError, MemoryError)) as ended:
        _write(plugin, version) if lie.method == "encoder" else _use(written)
    assert lie.calls
    if isinstance(ended.value, MemoryError):
        assert ended.value is lie.raised
        return
    assert isinstance(ended.value, PluginError if lie.method == "encoder" else CorruptFileError)
    text = str(ended.value)
    assert f"{plugin.honest.key!r} of plugin 'liar' of lance-core-liar 1.0" in text
    assert f"field {written.field.name!r}" in text
    plugin.lie = no_lie()
    _use(written)


@each_case(
    "method, name",
    [
        (method, name)
        for method, special in METHODS.items()
        for name in ANSWERS
        if (name not in SPECIAL or name in special)
        and (method, name) not in {("request", "empty list"), ("plan", "generator")}
    ],
)
def test_no_answer_of_an_array_encoding_is_a_wrong_value_or_an_error_without_its_name(
    method: str, name: str
) -> None:
    _check(Plugin("nullable", EncodingFamily.ARRAY), Lie(method, ANSWERS[name]), FileVersion.V2_0)


RIGHT = {("scalar_at", "None"), ("scalar_at", "class"), ("scalar", "bytes")}


def _cases_of_codecs() -> list[tuple[str, str]]:
    return [
        (method, name)
        for method in ("decoder", "encoder", "take", "scalar_at", "scalar")
        for name in ANSWERS
        if (name not in SPECIAL or (name == "fewer" and not method.startswith("scalar")))
        and (method, name) not in RIGHT
    ]


@each_case("method, name", lambda: share(_cases_of_codecs(), 2, 0))
def test_no_answer_of_a_compressive_encoding_is_a_wrong_value_or_an_error_without_its_name(
    method: str, name: str
) -> None:
    plugin = Plugin("inline_bitpacking", EncodingFamily.COMPRESSIVE)
    _check(plugin, Lie(method, ANSWERS[name]), FileVersion.V2_1)


TABLE = pa.table(
    {
        "x": NUMBERS,
        "n": pa.array(NUMBERS, mask=np.asarray(NUMBERS) % 7 == 0),
        "s": [f"a text with number {number}" for number in NUMBERS.to_pylist()],
        "l": [list(range(n % 4)) for n in NUMBERS.to_pylist()],
        # So many chunks that a kernel puts them into a page.
        "b": [np.random.default_rng(row).bytes(100) for row in range(len(NUMBERS))],
    }
)


class Kernels:
    """Offers the kernels of numpy, records their calls, and tells a lie at one of them."""

    def __init__(self) -> None:
        self.lie = no_lie()
        self.calls: dict[str, tuple[Any, ...]] = {}

    @hookimpl
    def lance_kernels(self) -> list[KernelSpec]:
        return [KernelSpec("liar", MappingProxyType({n: self._lying(n) for n in LOOPS}), rank=99)]

    def _lying(self, name: str) -> Callable[..., Any]:
        honest = getattr(NUMPY, name)

        def call(*arguments: Any) -> Any:
            self.calls.setdefault(name, arguments)
            return self.lie.end(name, lambda: honest(*arguments))

        return call


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    plugin = Kernels()
    name = get_manager().register(plugin, "liar")
    yield plugin
    get_manager().unregister(name)


def _changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A lie about each array of a result; an object that is none if it has no arrays."""

    def lie(honest: Any) -> Any:
        values = honest if isinstance(honest, tuple) else (honest,)
        if not any(isinstance(value, np.ndarray) and len(value) > 1 for value in values):
            return object()
        lied = tuple(change(v) if isinstance(v, np.ndarray) else v for v in values)
        return lied if isinstance(honest, tuple) else lied[0]

    return lie


WRONG_ARRAYS = {
    "fewer values": _changed(lambda array: array[:-1]),
    "floats": _changed(lambda array: array.astype(np.float64)),
    "a column": _changed(lambda array: array.reshape(-1, 1)),
    "a list": _changed(lambda array: array.tolist()),
    "not contiguous": _changed(lambda array: np.repeat(array, 2)[::2]),
    "another byte order": _changed(lambda array: array.astype(">i4")),
}


def test_no_answer_of_a_kernel_is_a_wrong_value_or_an_error_without_its_name(
    kernels: Kernels, tmp_path: Path
) -> None:
    for version in ("2.0", "2.1", "2.2"):
        uri = str(tmp_path / version)
        lance.write_dataset(TABLE, uri, data_storage_version=version)
        dataset = lance.dataset(uri)
        assert dataset.to_table().equals(TABLE)
        assert dataset.take([5, 1500, 7]).equals(TABLE.take([5, 1500, 7]))
    assert len(kernels.calls) > 15
    checked = checked_kernels(kernels.lance_kernels()[0], "plugin 'liar' of lance-core-liar")
    for name, arguments in kernels.calls.items():
        for told, answer in _lies_of(name).items():
            kernels.lie = Lie(name, answer)
            with pytest.raises((PluginError, MemoryError)) as ended:
                pytest.fail(f"{name} may return {told}: {checked.loops[name](*arguments)}")
            if ended.value is not kernels.lie.raised:
                assert f"kernel {name!r} of plugin 'liar' of lance-core-liar" in str(ended.value)
    kernels.lie = no_lie()


def _lies_of(name: str) -> dict[str, Callable[[Any], Any]]:
    lies = {told: answer for told, answer in ANSWERS.items() if told not in SPECIAL}
    if name == "check_levels":
        del lies["None"]
        return lies
    if name in ("zipped_places", "fsst_train"):  # nobody knows how many there are
        return lies
    return {**lies, **WRONG_ARRAYS}


def test_what_a_kernel_raises_on_purpose_reaches_the_user_as_it_is(
    kernels: Kernels, tmp_path: Path
) -> None:
    uri = str(tmp_path)
    lance.write_dataset(TABLE, uri, data_storage_version="2.1")
    kernels.lie = Lie("unpack_inline", lambda _: CorruptFileError("on purpose"))
    with pytest.raises(CorruptFileError, match=r"file .*\.lance.* field 'x': on purpose"):
        lance.dataset(uri).to_table(columns=["x"])
    kernels.lie = no_lie()


def test_an_error_of_a_kernel_names_the_file_and_the_field(
    kernels: Kernels, tmp_path: Path
) -> None:
    uri = str(tmp_path)
    lance.write_dataset(TABLE, uri, data_storage_version="2.1")
    kernels.lie = Lie("unpack_inline", lambda _: None, always=True)
    with pytest.raises(PluginError, match=r"file 'data/.*\.lance', field 'x': kernel .* NoneType"):
        lance.dataset(uri).to_table(columns=["x"])
    kernels.lie = Lie("pack_inline", lambda _: None, always=True)
    with pytest.raises(PluginError, match=r"field 'x.*': kernel 'pack_inline' of plugin 'liar'"):
        lance.write_dataset(TABLE, uri, mode="append")
    kernels.lie = Lie("find_integers", lambda _: None, always=True)
    merge = lance.dataset(uri).merge_insert("x").when_not_matched_insert_all()
    with pytest.raises(PluginError, match=r"field 'x': kernel 'find_integers' of plugin 'liar'"):
        merge.execute(TABLE.slice(0, 1))
    kernels.lie = no_lie()
    assert lance.dataset(uri).to_table().equals(TABLE)
