"""Defects of SQL functions: each the length of a text, or the text, with one thing wrong."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.function_spec import SqlFunctionSpec
from lance_core.sql_functions import Datum, Node, call, converted, text_argument
from lance_core_testing import SqlFunctionTests
from tests.conformance.planted.runner import Defect, defects_of

TEXTS = pa.array(["one", "two words", "", "Ω"])
_LENGTHS, _TEXTS = pa.int64(), pa.string()


def _length(value: Datum) -> Datum:
    return pc.cast(pc.utf8_length(value), pa.int64())


def _planned(kernel: Callable[..., Datum], kind: pa.DataType | None) -> Callable[..., Node]:
    def plan(node: Node) -> Node:
        return call("letters", kernel, text_argument("letters", node), kind=kind)

    return plan


SPEC = SqlFunctionSpec("letters", _planned(_length, None), "text", "The number of letters.")


class Good(SqlFunctionTests):
    """The tests of a function without a defect."""

    spec = SPEC
    calls = ([TEXTS],)


def tested(plan: Callable[..., Any] | str) -> SqlFunctionTests:
    """The tests of a function with another planner."""
    kit = Good()
    kit.spec = dataclasses.replace(SPEC, plan=plan)
    return kit


def not_importable() -> str:
    return "no_such_module:letters"


def without_arguments() -> Callable[..., Node]:
    return lambda: None  # type: ignore[arg-type, return-value]


def another_type_than_planned() -> Callable[..., Node]:
    return _planned(lambda value: pc.cast(_length(value), pa.float64()), _LENGTHS)


def no_value_for_null() -> Callable[..., Node]:
    def kernel(value: Datum) -> Datum:
        result = _length(value)
        return result if isinstance(result, pa.Scalar) else result.drop_null()

    return _planned(kernel, _LENGTHS)


def zero_for_null() -> Callable[..., Node]:
    return _planned(lambda value: pc.fill_null(_length(value), 0), _LENGTHS)


def relative_to_other_rows() -> Callable[..., Node]:
    def kernel(value: Datum) -> Datum:
        length = _length(value)
        least = pc.min(length) if isinstance(length, pa.Array) else length
        return pc.subtract(length, least)

    return _planned(kernel, _LENGTHS)


def by_the_whole_buffer() -> Callable[..., Node]:
    """It reads offsets without regard to the slice."""

    def kernel(value: Datum) -> Datum:
        if isinstance(value, pa.Scalar):
            return _length(value)
        offsets = np.frombuffer(value.buffers()[1] or b"\0" * 4, np.int32)
        lengths = np.diff(offsets[: len(value) + 1]).astype(np.int64)
        return pa.array(lengths, mask=np.asarray(value.is_null()))

    return _planned(kernel, _LENGTHS)


def at_least_one_row() -> Callable[..., Node]:
    def kernel(value: Datum) -> Datum:
        if not isinstance(value, pa.Scalar):
            assert len(value)
        return _length(value)

    return _planned(kernel, _LENGTHS)


def bytes_of_constants() -> Callable[..., Node]:
    def kernel(value: Datum) -> Datum:
        if isinstance(value, pa.Scalar):
            return pc.cast(pc.binary_length(value), pa.int64())
        return _length(value)

    return _planned(kernel, _LENGTHS)


def arrays_only() -> Callable[..., Node]:
    return _planned(lambda value: pa.array([len(text or "") for text in value]), _LENGTHS)


def any_type() -> Callable[..., Node]:
    """It does not check the type of its argument before it computes with it."""

    def plan(node: Node) -> Node:
        return call("letters", kernel, converted(node, node.type), kind=_LENGTHS)

    def kernel(value: Datum) -> Datum:
        values = value.to_pylist() if isinstance(value, pa.Array) else value.as_py()
        return pa.array([len(text) for text in values]) if len(values) else pa.array([], _LENGTHS)

    return plan


def counting_calls() -> Callable[..., Node]:
    calls = itertools.count()
    return _planned(lambda value: pc.add(_length(value), next(calls)), _LENGTHS)


def without_a_limit() -> Callable[..., Node]:
    return _planned(lambda value: pc.binary_repeat(value, 10_000), _TEXTS)


ALL: list[Defect] = [
    *defects_of(
        "test_the_descriptor_is_valid_and_its_planner_can_be_called",
        *(not_importable, without_arguments),
    ),
    *defects_of(
        "test_results_have_the_planned_type_and_one_value_for_each_row", another_type_than_planned
    ),
    *defects_of("test_null_gives_null_and_leaves_other_rows_alone", no_value_for_null),
    *defects_of("test_columns_without_values_are_accepted", zero_for_null),
    *defects_of("test_constants_give_the_values_of_columns", relative_to_other_rows),
    *defects_of(
        "test_sliced_columns_give_the_values_of_their_rows",
        *(by_the_whole_buffer,),
    ),
    *defects_of("test_no_rows_give_no_values", at_least_one_row),
    *defects_of("test_constants_give_the_values_of_columns", bytes_of_constants, arrays_only),
    *defects_of("test_other_types_are_computed_or_refused", any_type),
    *defects_of(
        "test_the_same_arguments_give_the_same_values_and_stay_as_they_are", counting_calls
    ),
    *defects_of("test_long_results_are_limited", without_a_limit),
]
