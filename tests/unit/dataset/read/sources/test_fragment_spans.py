"""A scan decodes only the fragments that it reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.dataset.read.fragments.live_rows import live
from lance_core.dataset.read.fragments.meta_columns import fragment_bounds, meta_column
from lance_core.dataset.read.plan import ScanPlan, narrowed
from lance_core.dataset.read.scan import scan_table
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.read.sources import fragment_spans
from lance_core.dataset.read.sources.fragment_spans import (
    FragmentSpans,
    ends_of,
    num_rows,
    stored_bytes,
)
from lance_core.encodings.decoding import RowRange
from lance_core.table.fragments import fragment_list
from tests.table_surgery import delete_rows, edit_manifest
from tests.unit.dataset.conftest import Sample
from tests.unit.decoded_fragments import decoded_fragments

MANY = 1000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of `MANY` fragments of three rows, which all have the same file."""
    uri = str(tmp_path_factory.mktemp("many") / "t.lance")
    dataset = lance.write_dataset(pa.table({"x": [1, 2, 3]}), uri)

    def repeat(manifest: table_pb2.Manifest) -> None:
        (fragment,) = manifest.fragments
        for number in range(1, MANY):
            manifest.fragments.add(id=number, files=fragment.files, physical_rows=3)

    edit_manifest(dataset, repeat)
    return uri


USES: dict[str, tuple[Callable[[lance.LanceDataset], object], int]] = {
    "open and count": (lambda dataset: dataset.count_rows(), 0),
    "fragments": (lambda dataset: [f.fragment_id for f in dataset.get_fragments()], 0),
    "a fragment": (lambda dataset: dataset.get_fragment(500).metadata, 1),
    "head": (lambda dataset: dataset.head(2), 1),
    "rows in the middle": (lambda dataset: dataset.slice(1501, 1503), 1),
    "a take": (lambda dataset: dataset.take([0, 2999]), 2),
    "the first batch": (lambda dataset: next(iter(dataset.to_batches())), 128),
    "a row by address": (lambda dataset: dataset.to_table(filter="_rowaddr = 4294967297"), 1),
    "a range of addresses": (lambda dataset: dataset.to_table(filter="_rowaddr < 3"), 1),
    "a range of positions": (lambda dataset: dataset.to_table(filter="_rowoffset > 2995"), 2),
    "an empty range of versions": (
        lambda dataset: dataset.to_table(filter="_row_created_at_version > 1"),
        0,
    ),
    "a count with a limit": (lambda dataset: dataset.scanner(limit=4).count_rows(), 2),
}


@pytest.mark.parametrize("use", USES)
def test_only_fragments_that_are_read_are_decoded(
    many: str, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    call, most = USES[use]
    with decoded_fragments(monkeypatch) as calls:
        call(lance.dataset(many))
    assert sum(calls) <= most


def test_the_first_rows_need_no_counts_of_all_fragments(many: str) -> None:
    dataset = lance.dataset(many)
    assert dataset.slice(2, 5)["x"].to_pylist() == [3, 1, 2]
    assert dataset.snapshot.manifest.fragments._recorded is None


@pytest.mark.parametrize("with_deleted", [False, True])
def test_limits_within_few_fragments_leave_the_first_rows(
    sample: Sample, with_deleted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ScanOptions(columns=[], with_row_id=True, include_deleted_rows=with_deleted)
    snapshot = sample.dataset.snapshot
    rows = scan_table(snapshot, plan_scan(snapshot, options))
    for module in (fragment_spans, fragment_list):
        monkeypatch.setattr(module, "FEW_FRAGMENTS", 3)
    for skip, limit in itertools.product([0, 1, 26, 57, 80], [0, 1, 23, 53, 1000]):
        snapshot = lance.dataset(sample.dataset.uri).snapshot
        plan = plan_scan(snapshot, replace(options, offset=skip, limit=limit))
        assert scan_table(snapshot, plan).equals(rows.slice(skip, limit))


@pytest.mark.parametrize("with_deleted", [False, True])
def test_offset_and_limit_leave_the_rows_that_a_look_at_each_span_leaves(
    sample: Sample, with_deleted: bool
) -> None:
    snapshot = sample.dataset.snapshot
    options = ScanOptions(columns=[], with_row_id=True, include_deleted_rows=with_deleted)
    plan = plan_scan(snapshot, options)
    for skip, limit in itertools.product([0, 1, 26, 27, 57, 80, 200], [None, 0, 1, 23, 53, 1000]):
        limited = replace(plan, offset=skip, limit=limit)
        found = narrowed(snapshot, limited)
        expected = narrowed(snapshot, limited.of_spans(tuple(plan.spans)))
        for one, other in ((found, expected), (_twice(found), _twice(expected))):
            rows = [scan_table(snapshot, narrowed(snapshot, part)) for part in (one, other)]
            assert rows[0].equals(rows[1])
        spans = tuple(found.spans)
        assert [found.spans[place] for place in range(-len(spans), 0)] == list(spans)
        assert found.spans[:] == spans
        assert num_rows(found.spans) == num_rows(spans)
        assert stored_bytes(found.spans) == stored_bytes(spans)
        is_end = ends_of(found.spans)
        assert all(is_end(span) for span in spans)
        shorter = [replace(s, stop=row) for s in spans for row in range(s.start, s.stop)]
        assert not any(map(is_end, shorter))


def _twice(plan: ScanPlan) -> ScanPlan:
    """A plan for a part of the rows of ``plan``."""
    return replace(plan, offset=1, limit=25)


def test_spans_of_a_table_are_created_on_access(sample: Sample) -> None:
    plan = plan_scan(sample.dataset.snapshot, ScanOptions(offset=1))
    assert isinstance(plan.spans, FragmentSpans)
    assert isinstance(narrowed(sample.dataset.snapshot, plan).spans, FragmentSpans)
    assert plan.spans[1:3] == (plan.spans[1], plan.spans[2])
    with pytest.raises(IndexError):
        plan.spans[4]


@pytest.mark.parametrize("name", ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version"])
@pytest.mark.parametrize("stable", [False, True])
def test_bounds_of_all_fragments_hold_for_their_live_rows(
    tmp_path: Path, name: str, stable: bool
) -> None:
    dataset = lance.write_dataset(
        pa.table({"x": range(10)}),
        str(tmp_path / "t.lance"),
        max_rows_per_file=4,
        enable_stable_row_ids=stable,
    )
    snapshot = delete_rows(dataset, {0: [0, 3], 2: [0]}).snapshot
    found = fragment_bounds(snapshot, name, 1, 3)
    if stable and name in ("_rowid", "_row_created_at_version"):
        assert found is None
        return
    assert found is not None
    for place, lowest, highest in zip((1, 2), *found, strict=True):
        rows = live(snapshot, snapshot.manifest.fragments[place], RowRange(0, [4, 4, 2][place]))
        values = meta_column(snapshot, snapshot.manifest.fragments[place], name, rows)
        assert lowest <= values.min()
        assert values.max() <= highest
