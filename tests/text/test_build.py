"""Text indices that are built here: bytes, partitions, other rows, maintenance."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    IndexWarning,
    InvalidInputError,
    PluginNotFoundError,
)
from lance_core.query import MatchQuery, PhraseQuery
from lance_core_text.postings.partition import Documents, Partition
from lance_core_text.write.parameters import BuildParameters
from tests.text.corpus import bm25, texts

ROWS = 900


def table(first: int = 0, rows: int = ROWS, seed: int = 1) -> pa.Table:
    return pa.table({"id": range(first, first + rows), "t": texts(rows, seed)})


def create(path: Path, **parameters: Any) -> lance.LanceDataset:
    dataset = lance.write_dataset(table(), path, max_rows_per_file=400)
    dataset.create_scalar_index("t", "INVERTED", **parameters)
    return lance.dataset(path)


def found(dataset: lance.LanceDataset, query: Any, **options: Any) -> dict[int, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = dataset.to_table(columns=["id"], full_text_query=query, **options)
    return dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def live_scores(dataset: lance.LanceDataset, query: str) -> dict[int, float]:
    """The scores by the definition, if all rows were in one index."""
    rows = dataset.to_table(columns=["id", "t"])
    documents = [(text or "").replace(".", "").split() for text in rows["t"].to_pylist()]
    scores = bm25(documents, query.split())
    ids = rows["id"].to_pylist()
    return {ids[row]: score for row, score in scores.items()}


def files(dataset: lance.LanceDataset) -> dict[str, bytes]:
    folders = (Path(dataset.uri) / "_indices").iterdir()
    newest = max(folders, key=lambda folder: folder.stat().st_mtime_ns)
    return {path.name: path.read_bytes() for path in newest.iterdir()}


def test_partitions_have_common_statistics(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("lance_core_text.write.build.MAX_DOCUMENTS", 200)
    dataset = create(tmp_path / "t", with_position=True)
    names = [name for name in files(dataset) if name.endswith("docs.lance")]
    assert len(names) > 2
    for query in ("w0", "w5 w17 w5", "w59"):
        expected = live_scores(dataset, query)
        assert found(dataset, query) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert found(dataset, PhraseQuery("w1 w0", "t"))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_bytes_do_not_depend_on_memory(tmp_path: Path, version: int, monkeypatch: Any) -> None:
    options = {"with_position": True, "format_version": version}
    options |= {"block_size": 256 if version == 3 else 128, "stem": False}
    monkeypatch.setattr("lance_core_text.write.posting_columns.MAX_POSTINGS", 1 << 10)
    monkeypatch.setattr("lance_core_text.write.write_partition.MAX_POSTINGS", 1 << 10)
    expected = files(create(tmp_path / "whole", **options))
    monkeypatch.setattr("lance_core_text.write.posting_runs.MAX_PIECE", 50)
    monkeypatch.setattr("lance_core_text.write.parameters._BYTES_PER_TERM", 1 << 10)
    monkeypatch.setattr(BuildParameters, "run_bytes", 1 << 12)
    assert files(create(tmp_path / "runs", memory_limit=1, **options)) == expected


def test_the_same_rows_have_the_same_bytes(tmp_path: Path) -> None:
    first = files(create(tmp_path / "a", with_position=True))
    assert files(create(tmp_path / "b", with_position=True)) == first


def test_columns_of_lists_and_large_strings(tmp_path: Path) -> None:
    lists = pa.array([["w1 w2", "w3"], ["w3"], [], None, ["w3 w3", None]], pa.list_(pa.string()))
    large = pa.array(["w1", "w2 w1", None, "", "w2"], pa.large_string())
    dataset = lance.write_dataset(
        pa.table({"id": range(5), "l": lists, "s": large}), tmp_path / "t"
    )
    for column in ("l", "s"):
        dataset.create_scalar_index(column, "FTS", with_position=True)
    dataset = lance.dataset(dataset.uri)
    assert list(found(dataset, MatchQuery("w3", "l"))) == [4, 1, 0]
    assert set(found(dataset, PhraseQuery("w2 w3", "l"))) == {0}
    assert list(found(dataset, MatchQuery("w1", "s"))) == [0, 1]


@pytest.mark.parametrize("stable", [False, True])
def test_scores_are_those_of_all_rows_after_maintenance(tmp_path: Path, stable: bool) -> None:
    path = tmp_path / "t"
    options = {"max_rows_per_file": 400, "enable_stable_row_ids": stable}
    dataset = lance.write_dataset(table(), path, **options)
    dataset.create_scalar_index("t", "INVERTED", with_position=True)
    lance.write_dataset(table(ROWS, 60, seed=3), path, mode="append")
    dataset = lance.dataset(path)
    assert set(found(dataset, "w3")) == set(live_scores(dataset, "w3"))
    dataset.delete("id % 5 = 2")
    dataset.update({"t": "'w3 w3 new'"}, where="id = 20")
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    assert len(_uuids(dataset)) == 2
    assert set(found(dataset, "w3")) == set(live_scores(dataset, "w3"))
    dataset.optimize.optimize_indices(num_indices_to_merge=10)
    assert len(_uuids(dataset)) == 1
    before = found(dataset, "w3")
    dataset.optimize.compact_files()
    assert found(dataset, "w3") == pytest.approx(before, rel=1e-6) or not stable
    expected = live_scores(dataset, "w3")
    assert set(found(dataset, "w3")) == set(expected)
    phrases = found(dataset, PhraseQuery("w3 new", "t"))
    assert list(phrases) == [20]
    dataset.optimize.optimize_indices(retrain=True)
    assert found(dataset, "w3") == pytest.approx(expected, rel=1e-5)


def _uuids(dataset: lance.LanceDataset) -> set[str]:
    return {str(index["uuid"]) for index in lance.dataset(dataset.uri).list_indices()}


def test_an_index_is_listed_warmed_and_dropped(tmp_path: Path) -> None:
    dataset = create(tmp_path / "t", language="French")
    (index,) = dataset.list_indices()
    assert (index["type"], index["name"]) == ("Inverted", "t_idx")
    stats = dataset.stats.index_stats("t_idx")
    assert stats["indices"][0]["params"]["language"] == "French"
    assert stats["indices"][0]["num_docs"] == ROWS - 3
    dataset.prewarm_index("t_idx")
    assert "MatchQuery: name=t_idx" in dataset.scanner(full_text_query="w1").explain_plan()
    dataset.drop_index("t_idx")
    with pytest.raises(InvalidInputError, match="no column has a text index"):
        lance.dataset(dataset.uri).to_table(full_text_query="w1")


def test_an_index_of_no_rows(tmp_path: Path) -> None:
    dataset = lance.write_dataset(table().slice(0, 0), tmp_path / "t")
    dataset.create_scalar_index("t", "INVERTED", with_position=True)
    lance.write_dataset(table(), dataset.uri, mode="append")
    dataset = lance.dataset(dataset.uri)
    with pytest.warns(IndexWarning, match="all rows are read"):
        assert dataset.to_table(full_text_query="w1").num_rows == len(live_scores(dataset, "w1"))
    dataset.optimize.optimize_indices()
    assert found(dataset, "w1") == pytest.approx(live_scores(dataset, "w1"), rel=1e-5)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"format_version": "v3", "block_size": 128}, InvalidInputError, "blocks of 256"),
        ({"format_version": 2, "block_size": 256}, InvalidInputError, "block_size is 256"),
        ({"format_version": 4}, InvalidInputError, "1, 2 or 3"),
        ({"block_size": 64}, InvalidInputError, "block_size is 64"),
        ({"num_workers": -1}, InvalidInputError, "num_workers"),
        ({"base_tokenizer": "code", "format_version": 2}, InvalidInputError, "format_version=3"),
        ({"document_granularity": 1}, InvalidInputError, "'list_element', got 1"),
        ({"document_granularity": "word"}, InvalidInputError, "'row' or"),
        ({"lance_tokenizer": "json"}, TypeError, "lance_tokenizer"),
        ({"memory_limit": 0}, InvalidInputError, "memory_limit"),
        ({"analyzer": "simple"}, InvalidInputError, "neither 'text' nor 'code'"),
        ({"analyzer": "code", "base_tokenizer": "raw"}, InvalidInputError, "raw"),
        ({"base_tokenizer": "icu"}, PluginNotFoundError, "icu"),
        ({"with_positions": True}, TypeError, "with_position"),
    ],
)
def test_wrong_parameters_are_named(given: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        BuildParameters.of({"kind": "INVERTED", **given})


def test_columns_without_texts_are_refused(tmp_path: Path) -> None:
    dataset = lance.write_dataset(table(), tmp_path / "t")
    with pytest.raises(InvalidInputError, match="for lists"):
        dataset.create_scalar_index("t", "INVERTED", document_granularity="list_element")
    with pytest.raises(TypeError, match="id"):
        dataset.create_scalar_index("id", "INVERTED")


def test_an_index_that_is_damaged_is_left_out_with_a_warning(tmp_path: Path) -> None:
    dataset = create(tmp_path / "t", stem=False)
    expected = found(dataset, "w5 w17")
    (folder,) = (Path(dataset.uri) / "_indices").iterdir()
    path = folder / "part_0_docs.lance"
    data = bytearray(path.read_bytes())
    data[len(data) // 8] ^= 1  # a number of a row, or of terms
    path.write_bytes(data)
    with pytest.warns(IndexWarning, match="'t_idx'"):
        rows = lance.dataset(dataset.uri).to_table(["id"], full_text_query="w5 w17")
    again = dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))
    assert again == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_prewarmed_indices_load_nothing_for_a_query(tmp_path: Path) -> None:
    dataset = create(tmp_path / "t")
    loaded = []
    for warms in (False, True):
        dataset = lance.dataset(dataset.uri)
        if warms:
            dataset.prewarm_index("t_idx")
        options = {"scan_stats_callback": lambda stats: loaded.append(stats.parts_loaded)}
        dataset.scanner(full_text_query="w3 w4", **options).to_table()
    assert loaded == [2, 0]


@pytest.mark.parametrize("compiled", [True, False])
def test_documents_have_no_term_more_often_than_all(
    tmp_path: Path, compiled: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr("lance_core_text.scoring.rank_partition.is_compiled", lambda: compiled)
    rows = pa.table({"id": range(3), "t": ["w1 w1 w1", "w1 w2", "w2"]})
    dataset = lance.write_dataset(rows, tmp_path / "t")
    dataset.create_scalar_index("t", "INVERTED")
    dataset = lance.dataset(dataset.uri)
    found = dataset.to_table(["id"], full_text_query="w1")
    assert found["id"].to_pylist() == [0, 1]
    stored = Partition.__dict__["documents"].func
    lengths = property(lambda self: Documents(stored(self).rows, np.array([1, 2, 1])))
    monkeypatch.setattr(Partition, "documents", lengths)
    dataset = lance.dataset(dataset.uri)
    with pytest.warns(IndexWarning, match="more often than all terms"):
        found = dataset.to_table(["id"], full_text_query="w1")
    assert found["id"].to_pylist() == [0, 1]


@pytest.mark.parametrize("stable", [True, False])
def test_rows_that_the_table_never_had_are_damage(
    tmp_path: Path, stable: bool, monkeypatch: Any
) -> None:
    rows = pa.table({"id": range(3), "t": ["w1 w1", "w1 w2", "w2"]})
    path = tmp_path / "t"
    lance.write_dataset(rows, path, enable_stable_row_ids=stable)
    lance.dataset(path).create_scalar_index("t", "INVERTED")
    lance.dataset(path).delete("id = 2")
    assert list(found(lance.dataset(path), "w1")) == [0, 1]
    stored = Partition.__dict__["documents"].func
    numbers = np.array([0, 3 if stable else 1 << 32, 2], np.uint64)
    damaged = property(lambda self: Documents(numbers, stored(self).lengths))
    monkeypatch.setattr(Partition, "documents", damaged)
    with pytest.warns(IndexWarning, match="which the table never had"):
        answer = lance.dataset(path).to_table(["id"], full_text_query="w1")
    assert answer["id"].to_pylist() == [0, 1]
