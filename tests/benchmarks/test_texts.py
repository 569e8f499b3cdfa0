"""The group of full-text search runs, and compares the answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.processes import subject
from benchmarks.report import OURS, PEER, Report
from benchmarks.texts import corpora, group, shapes
from benchmarks.texts.questions import Questions
from tests.benchmarks.test_vectors import ThisProcess


def letters(number: int) -> str:
    """A word that stands for a number."""
    return "".join("bdfgklmnpt"[int(digit)] + "ao"[int(digit) % 2] for digit in f"{number:03d}")


def zipf(count: int) -> list[str]:
    random = np.random.default_rng(1)
    numbers = np.minimum(random.zipf(1.3, size=(count, 12)), 999)
    return [" ".join(letters(number) for number in row) for row in numbers.tolist()]


def test_given_texts_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"id": range(3000), "t": zipf(3000)})
    pq.write_table(table, tmp_path / "few.parquet")
    chosen = [shape for shape in shapes.SHAPES if "filter" in shape.name or "all" in shape.name]
    monkeypatch.setenv(corpora.FILE_VARIABLE, str(tmp_path / "few.parquet"))
    monkeypatch.setattr(subject, "ProcessPoolExecutor", ThisProcess)
    monkeypatch.setattr(group, "SHAPES", chosen)
    monkeypatch.setattr(group, "QUERIES", 3)
    report = Report()
    group.text(report, tmp_path, quick=True)
    assert report.missed == []
    found = {str(line["name"]): line for line in report.lines}
    for name in ("build with positions", "phrase, all rows", "two terms, filter"):
        assert found[f"text few: {name}"]["medians"].keys() >= {OURS, PEER}
    assert "few phrase, all rows" in capsys.readouterr().out
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet"}


def test_misspelt_words_are_in_no_text() -> None:
    texts = ["planting trees"] * 99 + ["garden"]
    (question,) = Questions(pa.array(texts), 1).misspelt(1)
    assert question.words == ("garen",)


def test_manuals_are_the_descriptions_of_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "one" / "2020"
    folder.mkdir(parents=True)
    content = {
        "documentation": "<p>Starts a  <b>new</b> instance of a server.</p>",
        "shapes": [{"Other": {"documentation": "short"}}, {"documentation": {"x": 3}}],
    }
    (folder / "service-2.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    monkeypatch.setattr("botocore.__file__", str(tmp_path / "__init__.py"))
    assert corpora.manuals().to_pylist() == ["Starts a new instance of a server."]


def test_answers_differ_by_rows_or_by_scores() -> None:
    ids, scores = np.array([3, 1]), np.array([2, 1], np.float32)
    turned = ids[::-1], scores[::-1]
    assert group._alike((ids, scores), turned, is_whole=True)
    assert group._alike((ids, scores), (ids + 7, scores), is_whole=False)
    assert not group._alike((ids, scores), (ids + 7, scores), is_whole=True)
    assert not group._alike((ids, scores), (ids, scores * 1.01), is_whole=False)
    assert not group._alike((ids, scores), (ids[:1], scores[:1]), is_whole=False)
