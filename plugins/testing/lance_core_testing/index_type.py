"""The contract of index types, as tests to inherit.

::

    class TestSortedHash(IndexTypeTests):
        spec = lance_core_example_sorted_hash.SPEC

Every query that an index says it answers is compared with a plain evaluation of all values.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.errors import InvalidInputError, LanceError
from lance_core.hookspecs.file_versions import FileVersion
from lance_core.hookspecs.indices import (
    IndexOutput,
    IndexQuery,
    IsNull,
    OpenIndex,
    PlainQuery,
    Precision,
    RowNumbers,
    SearchResult,
    UnansweredQueryError,
)
from lance_core.hookspecs.stores import LocalStore
from lance_core.plugins import get_manager
from lance_core_testing.built_index import FOLDER, BuiltIndex, IndexBuilder
from lance_core_testing.index_samples import (
    GAP,
    Mask,
    RepeatedRows,
    SampleMap,
    SampleRows,
    concatenated,
    matches,
    queries_for,
    sample_arrays,
    sample_rows,
)
from lance_core_testing.memory_bound import bounded_memory, measured_memory
from lance_core_testing.mutants import mutants
from lance_core_testing.threads import race_threads

MUTANTS = 6
"""Number of damaged copies of each file of an index."""

EXACT_QUERIES = 12
"""Number of queries whose complement is compared for each distribution of nulls."""

_HIGH_BITS = np.uint64(32)


class IndexTypeTests(IndexBuilder):
    """The contract of an index type. Subclass it and set ``spec``.

    ``samples`` returns the columns to index, by name: by default those of
    `lance_core_testing.index_samples` whose types are accepted. ``parameters``: those of all built
    indices; small pages or zones make the tests thorough. ``max_build_bytes``: memory of a build
    of ``build_bytes``, for any number of rows. If the index stores values that it
    derives from those of the column, override `indexed` and `query`.
    """

    build_bytes: ClassVar[int] = 64 << 20
    """Bytes of the values and row numbers of an index whose building is measured."""

    max_build_bytes: ClassVar[int] = 48 << 20
    """Maximum bytes of memory while it is built. Raise both if the type has a larger budget that
    does not depend on the number of rows."""

    def samples(self) -> Mapping[str, pa.Array]:
        """Columns of accepted types, with nulls, by name."""
        index_type = self._type()
        return {
            name: array for name, array in sample_arrays().items() if index_type.accepts(array.type)
        }

    def indexed(self, values: pa.Array) -> pa.Array:
        """What queries compare of ``values``, a part of a column: by default the values."""
        return values

    def query(self, query: PlainQuery, kind: pa.DataType) -> IndexQuery:
        """``query`` on the column as a query on the values, of type ``kind``, of `indexed`."""
        return query

    def test_queries_find_what_a_plain_evaluation_finds(self) -> None:
        answered = 0
        for name, rows in self._rows():
            for part in (rows, SampleRows(rows.values, rows.rows, batch_rows=10_000)):
                built = self._build(part)
                answered += self._check(name, self._open(built), built.details, rows)
        assert answered, "the index answers no query about its samples: provide `samples`"

    def test_an_index_may_have_no_rows_or_only_nulls_or_no_nulls(self) -> None:
        for name, rows in self._rows():
            nulls = SampleRows(pa.nulls(len(rows.values), rows.type), rows.rows)
            present = np.asarray(rows.values.is_valid())
            for what, sample in (
                ("no rows", rows.where(np.zeros(rows.num_rows, np.bool_))),
                ("only nulls", nulls),
                ("no nulls", rows.where(present)),
                ("one row", rows.where(np.arange(rows.num_rows) == rows.num_rows // 2)),
            ):
                built = self._build(sample)
                queries = list(queries_for(self.indexed(rows.values)))
                self._check(f"{name}, {what}", self._open(built), built.details, sample, queries)

    def test_a_merge_has_the_rows_that_are_kept_where_they_are_now_and_new_rows(self) -> None:
        for name, rows in self._rows():
            first, second = rows.of_fragments(0, 1), rows.of_fragments(5)
            parts = [self._build(first), self._build(second)]
            moved = _moved(first.of_fragments(1), 9)
            same = second.where(np.arange(second.num_rows) % 3 != 1)
            maps = [
                SampleMap(first.of_fragments(1).rows[moved.is_kept], moved.rows.rows),
                SampleMap(same.rows, same.rows),
            ]
            added = rows.of_fragments(6)
            built = self._merge(parts, maps, added)
            assert built.details == parts[0].details, f"{name}: a merge keeps the parameters"
            whole = concatenated([same, added, moved.rows])
            self._check(f"{name}, merged", self._open(built), built.details, whole)
            alone = self._merge(parts[:1], maps[:1], None)
            self._check(f"{name}, moved", self._open(alone), alone.details, moved.rows)

    def test_a_merge_may_keep_no_rows(self) -> None:
        for name, rows in self._rows():
            nothing = SampleMap(np.empty(0, np.uint64), np.empty(0, np.uint64))
            before = self._build(rows.of_fragments(0))
            built = self._merge([before], [nothing], rows)
            assert built.details == before.details
            self._check(name, self._open(built), built.details, rows)
            empty = self._merge([before], [nothing], None)
            none = rows.where(np.zeros(rows.num_rows, np.bool_))
            queries = list(queries_for(self.indexed(rows.values)))
            self._check(f"{name}, empty", self._open(empty), empty.details, none, queries)

    def test_an_index_is_built_with_the_parameters_of_another(self) -> None:
        type_ = self._type()
        for name, rows in self._rows():
            before = self._build(rows.of_fragments(0))
            parameters = dict(self._open(before).parameters)
            type_.check_parameters(parameters)
            stated = dict(type_.parameters_of(before.details))
            assert stated.items() <= parameters.items(), f"{name}: the details state others"
            built = self._build(rows, parameters)
            assert built.details == before.details, f"{name}: the parameters are lost"
            assert dict(self._open(built).parameters) == parameters, name
            self._check(name, self._open(built), built.details, rows)

    def test_building_an_index_takes_bounded_memory(self) -> None:
        name, values = next(iter(self.samples().items()))
        rows = RepeatedRows(values, self.build_bytes)
        with tempfile.TemporaryDirectory() as folder, measured_memory() as measured:
            store, registry, paths = LocalStore(folder), get_manager().encodings, list[str]()
            with IndexOutput(store, FOLDER, registry, FileVersion.V2_1, paths) as output:
                self._type().build(rows, self.parameters, output)
        assert measured.peak <= self.max_build_bytes, (
            f"{name}: `build` took {measured.peak} bytes of memory for {rows.nbytes} bytes of "
            f"values and row numbers; it may take {self.max_build_bytes} for any number of rows. "
            "Write what is finished while batches come, or sort in parts; if the type has a larger "
            "budget of its own, raise `max_build_bytes` and `build_bytes`"
        )

    def test_damaged_files_raise_an_error_of_the_library(self) -> None:
        name, rows = next(self._rows())
        built = self._build(rows)
        for file in built.sizes:
            path = f"{FOLDER}/{file}"
            data = bytes(built.store.get(path))
            for mutant in (*mutants(data, MUTANTS, 18, hot=400), None):
                if mutant is None:
                    built.store.delete(path)
                else:
                    built.store.put(path, mutant.data)
                what = f"{name}: {file}, {'missing' if mutant is None else mutant.kind}"
                for sizes in (built.sizes, {}):
                    with bounded_memory(what, len(data)):
                        self._try(what, built, sizes, rows)
            built.store.put(path, data)

    def test_threads_may_search_at_the_same_time(self) -> None:
        name, rows = next(self._rows())
        built = self._build(rows)
        opened = self._open(built)

        def search(number: int) -> int:
            return self._check(name, opened, built.details, rows)

        assert len(set(race_threads(search, 4))) == 1

    def test_an_open_index_has_a_size_and_statistics(self) -> None:
        for name, rows in self._rows():
            opened = self._open(self._build(rows))
            assert opened.nbytes >= 0
            text = json.dumps(dict(opened.statistics()))
            assert text == json.dumps(dict(opened.statistics())), name
            opened.prewarm()

    def test_given_parameters_are_reported(self) -> None:
        for name, rows in self._rows():
            built = self._build(rows)
            nothing = SampleMap(rows.rows[:0], rows.rows[:0])
            for index in (built, self._merge([built], [nothing], rows)):
                opened = self._open(index)
                statistics, reported = opened.statistics(), opened.parameters
                for key, value in self.parameters.items():
                    assert _has_value(reported.get(key), value), (
                        f"{name}: `parameters` gives {key}={reported.get(key)!r} of an index that "
                        f"was built with {value!r}; it must give what was used"
                    )
                for key in reported.keys() & statistics.keys():
                    assert statistics[key] == reported[key], (
                        f"{name}: `statistics` gives {key}={statistics[key]!r}, and `parameters` "
                        f"{reported[key]!r}"
                    )

    def test_exact_answers_tell_true_false_and_null_apart(self) -> None:
        """Rows that NOT finds are those that are neither found nor null, wherever nulls are."""
        name, whole = next(self._rows())
        rows = whole.where(np.asarray(whole.values.is_valid()))
        positions, middle = np.arange(rows.num_rows), rows.batch_rows
        for what, is_null in (
            ("the first row is null", positions == 0),
            ("the last row is null", positions == rows.num_rows - 1),
            ("a whole batch is null", (positions >= middle) & (positions < 2 * middle)),
            ("a fragment is null", (rows.rows >> _HIGH_BITS) == 5),
            ("every other row is null", positions % 2 == 1),
        ):
            values = pc.if_else(pa.array(is_null), pa.scalar(None, rows.type), rows.values)
            sample = SampleRows(values, rows.rows, rows.batch_rows)
            built = self._build(sample)
            opened = self._open(built)
            for plain in itertools.islice(queries_for(self.indexed(values)), EXACT_QUERIES):
                self._check_complement(f"{name}, {what}", opened, built.details, sample, plain)

    def _check_complement(
        self, what: str, opened: OpenIndex, details: bytes, rows: SampleRows, plain: PlainQuery
    ) -> None:
        """Check the rows for which NOT ``plain`` is true, if the index answers exactly."""
        values = self.indexed(rows.values)
        query = self.query(plain, values.type)
        if self._type().precision(query, rows.type, details) is not Precision.EXACT:
            return
        result = opened.search(query, with_nulls=True)
        nulls = () if result.nulls is None else result.nulls.numbers()
        others = np.setdiff1d(np.setdiff1d(rows.rows, result.rows.numbers()), nulls)
        is_valid = np.asarray(values.is_valid()) | isinstance(plain, IsNull)
        expected = rows.rows[~matches(plain, values) & is_valid]
        _check_equal(f"{what}: NOT {_shown(plain)}", others, expected)

    def test_unknown_parameters_are_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="no_such_parameter"):
            self._type().check_parameters({**self.parameters, "no_such_parameter": 1})
        self._type().check_parameters(self.parameters)

    def test_the_type_is_found_by_its_name_and_by_its_details(self) -> None:
        manager = get_manager()
        for name in (self.spec.name, self.spec.name.upper(), self.spec.name.replace("_", "")):
            assert manager.index_type(name) == self.spec
        assert manager.index_type_of(self.spec.details_url) == self.spec
        assert "/" in self.spec.details_url, "other libraries need a slash in the type URL"

    def _rows(self) -> Iterator[tuple[str, SampleRows]]:
        samples = self.samples()
        assert samples, "no sample has an accepted type: provide `samples`"
        for name, values in samples.items():
            assert self._type().accepts(values.type), f"{name} has a type that is not accepted"
            yield name, sample_rows(values)

    def _check(
        self,
        name: str,
        opened: OpenIndex,
        details: bytes,
        rows: SampleRows,
        queries: Sequence[PlainQuery] | None = None,
    ) -> int:
        """Compare all answers with a plain evaluation; returns their number."""
        answered = 0
        values = self.indexed(rows.values)
        is_null = np.asarray(values.is_null())
        for plain in queries_for(values) if queries is None else queries:
            query = self.query(plain, values.type)
            precision = self._type().precision(query, rows.type, details)
            if precision is None:
                continue
            answered += 1
            what = f"{name}: {_shown(plain)}"
            is_match = matches(plain, values)
            result = opened.search(query, with_nulls=True)
            _check_rows(what, result, precision, rows, is_match)
            assert opened.search(query).rows.bitmaps == result.rows.bitmaps, (
                f"{what}: without nulls"
            )
            if precision is Precision.EXACT:
                unknown = is_null if not isinstance(plain, IsNull) else ~is_match & is_match
                nulls = None if result.nulls is None else result.nulls.numbers()
                assert nulls is not None or isinstance(plain, IsNull), f"{what}: no nulls"
                if nulls is not None:
                    _check_equal(f"{what}: nulls", nulls, rows.rows[unknown])
        return answered

    def _try(
        self, what: str, built: BuiltIndex, sizes: Mapping[str, int], rows: SampleRows
    ) -> None:
        """Use a damaged index; only errors of the library may occur."""
        try:
            opened = self._type().open(self._folder(built.store, sizes, rows.type), built.details)
            opened.statistics()
            opened.prewarm()
            values = self.indexed(rows.values)
            for plain in queries_for(values):
                query = self.query(plain, values.type)
                if self._type().precision(query, rows.type, built.details) is not None:
                    opened.search(query, with_nulls=True)
        except (LanceError, UnansweredQueryError):
            pass
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def _has_value(reported: object, value: object) -> bool:
    """True if a parameter is reported as it was given.

    A mapping may be reported as a text of JSON, with the values that were not given as well.
    """
    if not isinstance(value, Mapping):
        return reported == value
    known = json.loads(reported) if isinstance(reported, str) else reported or {}
    return isinstance(known, Mapping) and value.items() <= known.items()


def _shown(query: PlainQuery) -> str:
    """A query for messages; values may be out of the range that Python can show."""
    try:
        return str(query)
    except (OverflowError, ValueError):
        return type(query).__name__


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    """Rows after a rewrite that has removed some of them; ``is_kept`` tells which it kept."""

    rows: SampleRows
    is_kept: Mask


def _moved(rows: SampleRows, fragment: int) -> _Moved:
    is_kept = np.arange(rows.num_rows) % GAP != 3
    kept_rows = rows.where(is_kept)
    numbers = np.arange(kept_rows.num_rows, dtype=np.uint64) + np.uint64(fragment << 32)
    return _Moved(SampleRows(kept_rows.values, numbers), is_kept)


def _check_rows(
    what: str, result: SearchResult, precision: Precision, rows: SampleRows, is_match: Mask
) -> None:
    sure = rows.rows[is_match]
    if precision is Precision.EXACT:
        _check_equal(what, result.rows.numbers(), sure)
        return
    assert result.rows.contains(sure).all(), f"{what}: rows are missing"
    fragments = set((rows.rows >> _HIGH_BITS).tolist())
    others = set(result.rows.bitmaps) - fragments
    assert not others, f"{what}: rows of fragments {others}, which are not in the index"


def _check_equal(what: str, actual: RowNumbers, expected: RowNumbers) -> None:
    missing, more = np.setdiff1d(expected, actual), np.setdiff1d(actual, expected)
    assert not len(missing), f"{what}: {len(missing)} rows are missing, the first is {missing[0]}"
    assert not len(more), f"{what}: {len(more)} wrong rows, the first is {more[0]}"
