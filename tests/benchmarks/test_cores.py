"""What is derived from the scans of one and of two processors."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

from benchmarks import cores
from benchmarks.lock_sampler import Run
from benchmarks.report import OURS, PEER, Report
from tests.each_case import each_case


@each_case(
    ("serial", "expected"), [(0.0, 1.0), (8.0, 8.5), (16.0, 16.0), (-1.0, 1.0), (20.0, 16.0)]
)
def test_only_what_is_not_serial_is_divided(serial: float, expected: float) -> None:
    assert cores.with_processors(16.0, serial, 16) == expected


def test_figures_of_scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans = {
        (OURS, 1): cores.Scans([Run(1.6, 1.6)], [0.25]),
        (OURS, 2): cores.Scans([Run(1.2, 1.9)], [0.4]),
        (PEER, 1): cores.Scans([Run(2.0, 2.0)], [0.0]),
        (PEER, 2): cores.Scans([Run(1.0, 2.0)], [0.0]),
    }
    monkeypatch.setattr(cores, "_scans", lambda *_: scans)
    monkeypatch.setattr(cores, "_pages", lambda _: 16_000)
    monkeypatch.setattr(cores, "TABLES", dict.fromkeys(cores.TABLES, (40, 1)))
    report = Report()
    cores.cores(report, tmp_path, "2.2", quick=True)
    found = {line["name"]: line for line in report.lines}
    label = f"2.2 {cores.SMALL}"
    assert found[f"{label}: interpreter lock held, 1 core"]["value"] == 25
    assert found[f"{label}: interpreter lock held, 2 cores"]["value"] == 40
    assert found[f"{label}: processor time of a page"]["value"] == pytest.approx(0.1)
    assert found[f"{label}: of that with the lock"]["value"] == pytest.approx(0.025)
    assert found[f"{label}: gain of a second core, pylance"]["ratio"] == 2
    predicted = found[f"{label}: predicted for 16 cores"]
    assert predicted["medians"] == pytest.approx({OURS: 0.8 + 0.8 / 16, PEER: 2.0 / 16})
    assert predicted["by_lock"] == pytest.approx(0.4 + 1.2 / 16)


def test_pages_of_all_files_are_counted(tmp_path: Path) -> None:
    rows = pa.table({"a": range(6), "b": range(6)})
    lance.write_dataset(rows, str(tmp_path), max_rows_per_file=2)
    assert cores._pages(tmp_path) == 6
