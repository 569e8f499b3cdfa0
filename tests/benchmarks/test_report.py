"""What benchmarks print, and the file of figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.measure import Timing
from benchmarks.report import OURS, PEER, Report

SLOW, FAST = Timing((2.0,), (2.0,)), Timing((1.0,), (1.0,))


def test_a_ratio_below_its_bar_is_listed_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.add("fast", {OURS: FAST, PEER: SLOW}, 2.0)
    report.add("slow", {OURS: SLOW, PEER: FAST}, 0.6)
    report.ratio("copy", 1.9, 2.0)
    report.note("memory", 65, "MB", most=64)
    assert report.finish() == 3
    verdict = capsys.readouterr().out.splitlines()[-1]
    assert verdict == "missed: slow: 0.50 < 0.6; copy: 1.90 < 2; memory: 65.0 > 64 MB"


def test_runs_of_one_file_replace_figures_of_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    for day, names in enumerate((("scan", "take"), ("write",), ("scan", "take"))):
        report = Report()
        for name in names:
            report.note(name, day, "ms")
        report.save(path, {"date": day})
    found = json.loads(path.read_text())
    assert [run["date"] for run in found["runs"]] == [1, 2]
    dates = {line["name"]: found["runs"][line["run"]]["date"] for line in found["figures"]}
    assert dates == {"write": 1, "scan": 2, "take": 2}
    assert dates == {line["name"]: line["value"] for line in found["figures"]}
