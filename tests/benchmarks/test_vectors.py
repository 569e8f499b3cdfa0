"""The group of vector search runs, and its recall counts equally near rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.processes import subject
from benchmarks.report import OURS, PEER, Report
from benchmarks.vectors import group, vector_sets
from benchmarks.vectors.kinds import KINDS, Query
from benchmarks.vectors.recall import ExactRows


class ThisProcess:
    """Runs what would run in a process of its own."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*arguments))
        return done

    def shutdown(self) -> None:
        pass


def test_given_vectors_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(0)
    np.save(tmp_path / "few_x.npy", random.random((4000, 16)))
    np.save(tmp_path / "few_q.npy", random.random((4, 16)))
    filtered = Query("1 % of the rows", {"nprobes": 2}, (1, 1), share=0.05)
    kind = replace(KINDS[0], queries=(*KINDS[0].queries, filtered), sweep=({"nprobes": 1},))
    monkeypatch.setenv(vector_sets.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(subject, "ProcessPoolExecutor", ThisProcess)
    monkeypatch.setattr(group, "KINDS", (kind,))
    report = Report()
    group.vectors(report, tmp_path, quick=True)
    found = {str(line["name"]): line for line in report.lines}
    for name in ("flat: one query", "IVF_FLAT: build", "IVF_FLAT: 1 % of the rows"):
        assert found[f"vectors few {name}"]["medians"].keys() >= {OURS, PEER}
    assert found["vectors few flat: batch of 100"]["recall"][OURS] == 1
    assert found["vectors few IVF_FLAT: nprobes 1"]["point"]["kind"] == "IVF_FLAT"
    assert found["vectors few in memory: BLAS, all rows"]["recall"] == {"BLAS, all rows": 1}
    assert "few IVF_FLAT: build" in capsys.readouterr().out
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy"}


def test_recall_counts_rows_that_are_as_near_as_the_last() -> None:
    vectors = np.array([[0], [1], [2], [2], [9]], np.float32)
    few = vector_sets.VectorSet("few", "l2", vectors, np.zeros((1, 1), np.float32), 1)
    exact = ExactRows(few, np.arange(5)[::-1])
    assert exact.recall(np.array([[0, 1, 3]]), 5) == 1
    assert exact.recall(np.array([[0, 4, -1]]), 5) == pytest.approx(1 / 3)
    assert exact.recall(np.array([[2, 3]]), 3) == 1  # of the last three rows
    assert exact.recall(np.array([[0, 3]]), 3) == 0.5


def test_letters_are_drawn_and_texts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.zeros((2, vector_sets.CANVAS, vector_sets.CANVAS), np.uint8)
    image[:, :, 16:] = 255
    monkeypatch.setattr(vector_sets, "_drawn_letters", lambda: iter([image]))
    (edge,) = vector_sets.letters()
    assert edge.max() > 0
    assert np.flatnonzero(edge).tolist() == list(np.flatnonzero(edge[::8]) * 8)  # to the right
    pieces = [f"word{chr(97 + number % 7)} other {chr(97 + number % 5)}x" for number in range(40)]
    monkeypatch.setattr(vector_sets, "_pieces", lambda: iter([*pieces, *pieces]))
    monkeypatch.setattr(vector_sets, "WORDS", 8)
    monkeypatch.setattr(vector_sets, "TEXT_NUMBERS", 4)
    made = vector_sets.texts()
    assert made.shape[1] == 4
    assert np.allclose(np.linalg.norm(made, axis=1), 1)
