"""The contract of SQL functions, as tests to inherit.

::

    class TestHaversine(SqlFunctionTests):
        spec = lance_core_example_haversine.SPEC
        calls = ([pa.array([0.0, 59.9]), pa.array([0.0, 10.7]), ...],)

Each call is evaluated on whole, sliced, chunked and empty columns, with NULL in each argument and
with constants instead of columns, and compared with its own results for whole columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from lance_core.dataset.expressions.sql.functions import call_planned
from lance_core.dataset.expressions.sql.nodes import size_limit
from lance_core.errors import InvalidInputError, LanceError, PluginError, ResultTooLargeError
from lance_core.hookspecs.functions import SqlFunctionSpec
from lance_core.plugins.descriptors import check_descriptor
from lance_core.plugins.factory_checks import problem_of
from lance_core.sql_functions import (
    ColumnNode,
    Constant,
    Node,
    evaluate,
    is_variable,
    null,
)
from lance_core_testing.threads import race_threads

TYPES = (
    *(pa.bool_(), pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.decimal256(50, 3)),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3)),
    *(pa.date32(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.time64("us")),
    *(pa.duration("ms"), pa.month_day_nano_interval(), pa.null()),
    *(pa.list_(pa.int64()), pa.large_list(pa.string()), pa.list_(pa.float32(), 2)),
    pa.struct([("x", pa.int64())]),
    pa.dictionary(pa.int32(), pa.string()),
)
"""Types of arguments that a function takes or refuses."""

REFUSAL = "types that a function does not take are an error of lance_core.errors"

MANY_ROWS = 4096
MAX_ADDED_PER_ROW = 256
"""Bytes that results may be longer than arguments without a check of the limit of results."""

Arguments = Sequence[pa.Array]


class SqlFunctionTests:
    """The contract of an SQL function. Subclass it and set ``spec`` and ``calls``.

    ``calls``: the arguments of calls, each an array of one or more values that are not NULL; all of
    a call have the same length. Together they have all types that the function is made for.
    ``nulls``: why a NULL argument does not give NULL, for a function whose summary says so.
    """

    spec: SqlFunctionSpec
    calls: Sequence[Arguments] = ()
    nulls: ClassVar[str | None] = None

    def test_the_descriptor_is_valid_and_its_planner_can_be_called(self) -> None:
        check_descriptor(self.spec)
        problem = problem_of(self.spec)
        assert problem is None, f"plan: {problem}"
        assert self.spec.summary.endswith("."), "the summary must be a sentence"
        assert self.calls, "nothing to try it with: set `calls`"

    def test_other_numbers_of_arguments_are_refused(self) -> None:
        least, most, _ = self.spec.shape
        for count in {least - 1, least if most is None else most + 1} - {-1}:
            if not (least <= count and (most is None or count <= most)):
                column = ColumnNode(("0",), self.calls[0][0].type if self.calls[0] else pa.int64())
                with pytest.raises(InvalidInputError, match="does not take"):
                    call_planned(self.spec, self.spec.name, [column] * count)

    def test_results_have_the_planned_type_and_one_value_for_each_row(self) -> None:
        for what, arguments in self._calls():
            node = self._node(arguments)
            result = evaluate(node, _table(arguments))
            assert result.type == node.type, (
                f"{what}: the planned type is {node.type}, the kernel returned {result.type}"
            )
            assert len(result) == _rows(arguments), f"{what}: {len(result)} values"
            result.validate(full=True)

    def test_the_same_arguments_give_the_same_values_and_stay_as_they_are(self) -> None:
        for what, arguments in self._calls():
            before = [pa.concat_arrays([values, values.slice(0, 0)]) for values in arguments]
            self._same(f"{what}, again", self._values(arguments), self._values(arguments))
            for values, copy in zip(arguments, before, strict=True):
                assert values.equals(copy), f"{what}: an argument has been changed"

    def test_null_gives_null_and_leaves_other_rows_alone(self) -> None:
        for what, arguments in self._calls():
            whole = self._values(arguments)
            for position, values in enumerate(arguments):
                is_null = np.arange(len(values)) % 2 == position % 2
                with_nulls = list(arguments)
                with_nulls[position] = _with_nulls(values, is_null)
                got = self._values(with_nulls)
                for row in range(len(values)):
                    name = f"{what}, argument {position + 1} is NULL in some rows, row {row}"
                    if not is_null[row]:
                        self._same(name, got[row : row + 1], whole[row : row + 1])
                    elif self.nulls is None:
                        assert not got[row].is_valid, (
                            f"{name}: {got[row]!r}; it must be NULL, or `nulls` says why it is not"
                        )

    def test_columns_without_values_are_accepted(self) -> None:
        for what, arguments in self._calls():
            type_ = self._node(arguments).type
            for position, values in enumerate(arguments):
                all_null = list(arguments)
                all_null[position] = pa.nulls(len(values), values.type)
                got = self._values(all_null)
                assert got.type == type_, f"{what}, argument {position + 1} is NULL: {got.type}"
                assert self.nulls is not None or got.null_count == len(got), (
                    f"{what}, argument {position + 1} is NULL: {got!r}"
                )

    def test_a_null_literal_is_accepted_or_refused(self) -> None:
        for what, arguments in self._calls():
            for position in range(len(arguments)):
                nodes = _columns(arguments)
                nodes[position] = null(pa.null())
                try:
                    node = call_planned(self.spec, self.spec.name, nodes)
                except PluginError:
                    raise
                except LanceError:
                    continue
                got = _array(evaluate(node, _table(arguments)))
                assert self.nulls is not None or got.null_count == len(got), (
                    f"{what}, argument {position + 1} is the literal NULL: {got!r}"
                )

    def test_results_do_not_depend_on_chunks(self) -> None:
        for what, arguments in self._calls():
            many = [pa.concat_arrays([values] * 3) for values in arguments]
            chunked = [
                pa.chunked_array([values.slice(0, cut), values.slice(cut)])
                for cut, values in enumerate(many, start=1)
            ]
            node = self._node(arguments)
            got = _array(evaluate(node, pa.table(chunked, _names(arguments))))
            self._same(f"{what}, in chunks", got, self._values(many))

    def test_sliced_columns_give_the_values_of_their_rows(self) -> None:
        for what, arguments in self._calls():
            many = [pa.concat_arrays([values] * 3) for values in arguments]
            whole = self._values(many)
            for start, count in ((1, len(whole) - 2), (len(whole) // 2, 1), (len(whole) - 1, 1)):
                slices = [values.slice(start, count) for values in many]
                got = self._values(slices)
                self._same(f"{what}, rows {start} to {start + count}", got, whole[start:][:count])

    def test_no_rows_give_no_values(self) -> None:
        for what, arguments in self._calls():
            node = self._node(arguments)
            got = evaluate(node, _table([values.slice(0, 0) for values in arguments]))
            assert (len(got), got.type) == (0, node.type), f"{what}, no rows: {got!r}"

    def test_constants_give_the_values_of_columns(self) -> None:
        for what, arguments in self._calls():
            whole = self._values(arguments)
            for row in range(len(whole)):
                for chosen in (*({i} for i in range(len(arguments))), set(range(len(arguments)))):
                    nodes = _columns(arguments)
                    for i in chosen:
                        nodes[i] = Constant(arguments[i][row])
                    node = call_planned(self.spec, self.spec.name, nodes)
                    data = _table([values.slice(row, 1) for values in arguments])
                    numbers = ", ".join(str(i + 1) for i in sorted(chosen))
                    name = f"{what}, row {row}, constant arguments {numbers}"
                    self._same(name, _array(evaluate(node, data)), whole[row : row + 1])

    def test_other_types_are_computed_or_refused(self) -> None:
        for what, arguments in self._calls():
            for position in range(len(arguments)):
                for data_type in TYPES:
                    changed = list(arguments)
                    changed[position] = pa.nulls(len(arguments[position]), data_type)
                    name = f"{what}, argument {position + 1} is {data_type}"
                    try:
                        node = self._node(changed)
                        got = evaluate(node, _table(changed))
                    except PluginError as error:
                        raise AssertionError(f"{name}: {error}; {REFUSAL}") from error
                    except LanceError:
                        continue
                    except Exception as error:
                        what_raised = f"{type(error).__name__}: {error}"
                        raise AssertionError(f"{name}: {what_raised}; {REFUSAL}") from error
                    assert got.type == node.type, f"{name}: {got.type}, planned as {node.type}"

    def test_threads_evaluate_at_the_same_time(self) -> None:
        for what, arguments in self._calls():
            whole = self._values(arguments)

            def evaluate_again(
                _: int, name: str = what, inputs: Arguments = arguments, expected: pa.Array = whole
            ) -> None:
                self._same(f"{name}, in threads", self._values(inputs), expected)

            race_threads(evaluate_again, 4)

    def test_long_results_are_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A kernel that makes texts or lists longer checks the limit before it needs the memory."""
        monkeypatch.setattr(size_limit, "MAX_ADDED_BYTES", MAX_ADDED_PER_ROW * MANY_ROWS)
        for what, arguments in self._calls():
            times = -(-MANY_ROWS // _rows(arguments))
            many = [pa.concat_arrays([values] * times) for values in arguments]
            node = self._node(arguments)
            if not is_variable(node.type):
                continue
            try:
                got = _array(evaluate(node, _table(many)))
            except ResultTooLargeError:
                continue
            added = got.nbytes - sum(values.nbytes for values in many)
            assert added <= size_limit.MAX_ADDED_BYTES, (
                f"{what}: {len(got)} results are {added} bytes longer than their arguments; a "
                "kernel that makes values longer must call check_added before it does"
            )

    def _calls(self) -> Iterator[tuple[str, Arguments]]:
        for arguments in self.calls:
            type_names = ", ".join(str(values.type) for values in arguments)
            assert arguments, "a function without arguments needs no tests of these"
            assert len({len(values) for values in arguments}) == 1, f"{type_names}: unequal lengths"
            assert not any(values.null_count for values in arguments), (
                f"{type_names}: NULL in `calls`"
            )
            yield f"{self.spec.name}({type_names})", arguments

    def _node(self, arguments: Arguments) -> Node:
        return call_planned(self.spec, self.spec.name, _columns(arguments))

    def _values(self, arguments: Arguments) -> pa.Array:
        return _array(evaluate(self._node(arguments), _table(arguments)))

    def _same(self, what: str, got: pa.Array, expected: pa.Array) -> None:
        assert got.type == expected.type, f"{what}: {got.type} instead of {expected.type}"
        # As text, NaN equals NaN, and 0.0 is not -0.0.
        assert repr(got.to_pylist()) == repr(expected.to_pylist()), (
            f"{what}: {got.to_pylist()!r} instead of {expected.to_pylist()!r}"
        )


def _names(arguments: Arguments) -> list[str]:
    return [str(i) for i in range(len(arguments))]


def _columns(arguments: Arguments) -> list[Node]:
    return [ColumnNode((str(i),), values.type) for i, values in enumerate(arguments)]


def _table(arguments: Arguments) -> pa.Table:
    return pa.table(list(arguments), _names(arguments))


def _rows(arguments: Arguments) -> int:
    return len(arguments[0])


def _array(values: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)


def _with_nulls(values: pa.Array, is_null: np.ndarray) -> pa.Array:
    positions = pa.array(np.arange(len(values)), mask=is_null)
    return values.take(positions)
