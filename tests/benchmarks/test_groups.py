"""Every group of benchmarks runs, on tables that are as small as possible."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import lance
import pyarrow as pa
import pytest

from benchmarks import columns_wide, compaction, measure, pair, small_files, versions
from benchmarks.bars import SCAN_TO_FRESH
from benchmarks.report import OURS, PEER, Report
from benchmarks.workloads import texts


@pytest.fixture(autouse=True)
def _no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect no garbage between the runs: it takes most of the time of such small tables."""
    monkeypatch.setattr(measure, "gc", SimpleNamespace(collect=lambda: 0))


def names(report: Report) -> set[str]:
    """The names of comparisons of both libraries."""
    return {
        str(line["name"]) for line in report.lines if line.get("medians", {}).keys() == {OURS, PEER}
    }


def test_small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "ROWS", 200_000)
    monkeypatch.setattr(small_files, "SINGLE", 30)
    monkeypatch.setattr(small_files, "FEW", 500)
    monkeypatch.setattr(small_files, "MANY", 600)
    monkeypatch.setattr(small_files, "SIZES", (4_000, 1_000))
    monkeypatch.setitem(small_files.SCAN_OF_FRAGMENTS, 4_000, None)
    report = Report()
    small_files.small_files(report, tmp_path, "2.2", quick=True)
    assert names(report) >= {
        "2.2 fragments of 4,000 rows: scan",
        "2.2 fragments of 1,000 rows: scan again",
        "2.2 4 fragments: filter 0.1 %",
        "2.2 4 fragments: take 100 rows again",
        "2.2 2 fragments, nested: scan",
        "2.2 3 fragments of 1 row: scan",
        "2.2 5 fragments: open, count, first batch",
        "2.2 6 fragments: head(10)",
        "2.2 6 fragments: get_fragments()",
    }
    assert not list(tmp_path.iterdir())


def test_links_are_made_to_as_many_copies_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair, "MAX_LINKS", 2)
    row = pa.table({"id": [7]})
    lance.write_dataset(row, str(tmp_path / "source"))
    pair.link_fragments(tmp_path / "source", tmp_path / "many", 5)
    assert lance.dataset(str(tmp_path / "many")).to_table() == pa.concat_tables([row] * 5)
    assert len({file.stat().st_ino for file in (tmp_path / "many/data").iterdir()}) == 3


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "APPENDS", 20)
    monkeypatch.setattr(versions, "CHANGES", 30)
    report = Report()
    versions.versions(report, tmp_path, quick=True)
    assert names(report) == {"versions() of 2 appends", "versions() of 3 changes of configuration"}


def test_columns_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("", "sparse", "nested")
    shapes = tuple(columns_wide.Shape(200, 100, kind) for kind in kinds)
    monkeypatch.setattr(columns_wide, "SHAPES", shapes)
    monkeypatch.setattr(columns_wide, "COUNTS", (10, 20, 30))
    monkeypatch.setattr(columns_wide, "FEW", 10)
    report = Report()
    columns_wide.columns_wide(report, tmp_path, "2.2", quick=True)
    reads = ("scan", "one column", "filter on 3", "take 10 rows")
    for label in ("2.2 10 columns x 100 rows", "2.2 10 nested columns x 100 rows"):
        assert names(report) >= {f"{label}: write", f"{label}: open"}
        assert names(report) >= {
            f"{label}: {read}{again}" for read in reads for again in ("", " again")
        }
    growth = [line for line in report.lines if "growth to 20 columns" in str(line["name"])]
    assert len(growth) == 2
    assert not list(tmp_path.iterdir())


def test_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = compaction.Case("small", texts, 4, 5, delete="id < 2")
    monkeypatch.setattr(compaction, "CASES", (case,))
    monkeypatch.setattr(compaction, "run_program", lambda *_: "70")
    report = Report()
    compaction.compaction(report, tmp_path, "2.2", quick=True)
    found = {line["name"]: line for line in report.lines}
    assert found["2.2 small: pages"]["encoded"] > 0
    ways = {*compaction.WAYS, "cp"}
    assert found["2.2 small: compact"]["medians"].keys() == ways
    for reader in (OURS, PEER):
        label = f"2.2 small: scan by {reader}"
        assert found[label]["medians"].keys() == {*compaction.WAYS, "fresh"}
        assert found[f"{label} after copy, to fresh"]["bar"] == SCAN_TO_FRESH
    for other in ("pylance's re-encode", "re-encode", "cp"):
        assert found[f"2.2 small: copy to {other}"]["ratio"] > 0
    assert "2.2 small: memory, copy: 70.0 > 64 MB" in report.missed
    assert not list(tmp_path.iterdir())
