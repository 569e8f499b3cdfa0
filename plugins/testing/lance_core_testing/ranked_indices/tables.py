"""Tests of tables with an index, whose rows are changed in every way."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read import scan_tuning
from lance_core.errors import IndexWarning
from lance_core_testing.index_samples import SampleRows
from lance_core_testing.ranked_indices.subject import (
    COLUMN,
    RankedSubject,
    check_equal,
)

FILE_ROWS = 130
"""Rows of a fragment."""


class TableTests(RankedSubject):
    """A scan with the search, with an index and without."""

    @pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
    def stable(self, request: pytest.FixtureRequest) -> bool:
        """Whether the table has stable row ids."""
        is_stable: bool = request.param
        return is_stable

    def test_a_scan_finds_the_best_rows_whatever_was_done_to_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stable: bool
    ) -> None:
        _rank_by_indices(monkeypatch)
        values = self.values()
        rows = pa.table({"id": range(len(values)), COLUMN: values, "n": [0] * len(values)})
        dataset = lance.write_dataset(
            rows, tmp_path / "table", max_rows_per_file=FILE_ROWS, enable_stable_row_ids=stable
        )
        self._check_table("without an index", dataset, covered=0)
        self.create_index(dataset)
        self._check_table("with an index", dataset, covered=1)
        dataset.delete("id % 7 = 3")
        self._check_table("after a deletion", dataset, covered=1)
        dataset.update({"n": "n + 1"}, where="id % 11 = 5")
        self._check_table("after an update", dataset, covered=1)
        changed = rows.slice(20, 90).set_column(1, COLUMN, values.slice(200, 90))
        merge = dataset.merge_insert("id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(changed)
        dataset = lance.dataset(dataset.uri)
        self._check_table("after a merge", dataset, covered=1)
        more = rows.slice(0, 60).set_column(0, "id", pa.array(range(10_000, 10_060)))
        dataset = lance.write_dataset(more, dataset, mode="append")
        self._check_table("with new rows", dataset, covered=1)
        dataset.optimize.optimize_indices(num_indices_to_merge=0)
        self._check_table("with a segment of new rows", dataset, covered=2)
        # With stable row ids there is nothing to defer.
        deferred: dict[str, Any] = {} if stable else {"defer_index_remap": True}
        dataset.optimize.compact_files(target_rows_per_fragment=3 * FILE_ROWS, **deferred)
        self._check_table("after a compaction that indices follow later", dataset, covered=2)
        dataset.delete("id % 13 = 6")
        dataset.optimize.compact_files(compaction_mode="try_binary_copy")
        self._check_table("after a compaction", dataset, covered=1)
        dataset.optimize.optimize_indices()
        dataset.optimize.optimize_indices(retrain=True)
        self._check_table("built again", dataset, covered=1)

    def test_a_damaged_index_is_left_out_with_a_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _rank_by_indices(monkeypatch)
        rows = pa.table({"id": range(len(self.values())), COLUMN: self.values()})
        dataset = lance.write_dataset(rows, tmp_path / "table", max_rows_per_file=FILE_ROWS)
        self.create_index(dataset)
        for path in (tmp_path / "table" / "_indices").rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes()[:40])
        dataset = lance.dataset(dataset.uri)
        with pytest.warns(IndexWarning, match="cannot be used"):
            answer = self._found(dataset, self.targets()[0], 10)
        check_equal("a damaged index", answer, self._expected(dataset, self.targets()[0])[:10])

    def create_index(self, dataset: lance.LanceDataset) -> None:
        """Create an index of the type on the column ``value``."""
        dataset.create_scalar_index(COLUMN, self.spec.name, **self.parameters)

    def _check_table(self, what: str, dataset: lance.LanceDataset, covered: int) -> None:
        """Compare scans with all rows; ``covered``: segments of the index, at least."""
        targets = list(self.targets())
        target = targets[dataset.version % len(targets)]
        expected = self._expected(dataset, target)
        with warnings.catch_warnings():
            warnings.simplefilter("error", IndexWarning)
            for k in (5, len(expected) + 3):
                check_equal(what, self._found(dataset, target, k), expected[:k])
            for filter_, rest in (("id % 2 = 1", 1), ("id % 50 = 7", 7)):
                divisor = 2 if rest == 1 else 50
                filtered = [pair for pair in expected if pair[0] % divisor == rest][:9]
                answer = self._found(dataset, target, 9, filter=filter_)
                check_equal(f"{what}, with the filter {filter_}", answer, filtered)
            argument = {self.search.name: self.argument(targets, 4)}
            scanner = dataset.scanner(["id"], **argument)
            table = scanner.to_table()
        for number, query in enumerate(targets):
            own = table.filter(pa.compute.equal(table["query_index"], number))["id"].to_pylist()
            nearest = [id_ for id_, _ in self._expected(dataset, query)[:4]]
            assert own == nearest, f"{what}: query {number} of several"
        segments = sum(len(index.segments) for index in dataset.describe_indices())
        assert segments >= covered, f"{what}: {segments} segments"
        is_used = f"{COLUMN}_idx" in scanner.explain_plan()
        assert is_used == bool(covered), f"{what}: the index is not used: {scanner.explain_plan()}"

    def _found(
        self, dataset: lance.LanceDataset, target: Any, k: int, **options: Any
    ) -> list[tuple[int, float]]:
        argument = {self.search.name: self.argument(target, k)}
        table = dataset.to_table(["id"], **argument, **options)
        scores = table[self._query(target).score_name].to_pylist()
        return list(zip(table["id"].to_pylist(), scores, strict=True))

    def _expected(self, dataset: lance.LanceDataset, target: Any) -> list[tuple[int, float]]:
        """All ids with scores, best first; ties by row address."""
        table = dataset.to_table(["id", COLUMN], with_row_address=True)
        values = pa.concat_arrays(table[COLUMN].chunks)
        order = np.asarray(table["_rowaddr"])
        ids = dict(zip(order.tolist(), table["id"].to_pylist(), strict=True))
        exact = self._exact(SampleRows(values, order.astype(np.uint64)), target)
        return [(ids[row], score) for row, score in exact]


def _rank_by_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search indices also for filters of few rows, whose values are ranked else."""
    now = scan_tuning.tuning()
    ranking = replace(now.ranking, few_rows=0)
    monkeypatch.setattr(scan_tuning, "TUNING", replace(now, ranking=ranking))
