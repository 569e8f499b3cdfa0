"""Text indices of JSON documents and of fields in structs, here and in pylance."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import lance.query
import numpy as np
import pyarrow as pa
import pytest

import lance_core
import lance_core.query
from lance_core.errors import InvalidInputError

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

SPECIAL: list[Any] = [
    {"title": "Harry Potter: running", "n": 1, "b": [{"c": "hello World"}, {"c": "e"}], "ok": True},
    {"e": {"f": 1.0, "g": 1e-5, "h": 1e21, "i": -0.0, "j": 1 << 63, "k": 1.5e300}, "d": None},
    [1, "two", ["three", {"four": "five six"}]],
    "plain text here",
    5,
    None,
    {},
    {"é.x": "Café", "empty": "", "a,b": "comma", "quote": 'say "hi"\n', "the": "the"},
]


def documents(count: int) -> list[str | None]:
    random = np.random.default_rng(3)
    found = list(SPECIAL)
    for number in range(count):
        words = [f"w{word}" for word in random.integers(0, 20, 6)]
        tags = [f"w{word}" for word in random.integers(0, 5, 2)]
        found.append(
            {"title": " ".join(words), "tags": tags, "n": number % 7, "in": {"x": words[0]}}
        )
    return [None if one is None else json.dumps(one) for one in found]


def create(library: ModuleType, path: Path, rows: int = 300) -> str:
    table = pa.table({"id": range(rows + len(SPECIAL)), "j": _json(documents(rows))})
    lance_core.write_dataset(table, path, max_rows_per_file=150)
    library.dataset(str(path)).create_scalar_index("j", "INVERTED", with_position=True)
    return str(path)


def _json(texts: list[str | None]) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts))


def queries(module: ModuleType) -> list[Any]:
    match, both = module.MatchQuery, module.FullTextOperator.AND
    texts = ["title,str,harry POTTER", "b.c,str,world", "n,number,1;ok,bool,true", "d,null,null"]
    texts += [f"e.{key}" for key in ("f,number,1.0", "g,number,0.00001", "h,number,1e+21")]
    texts += ["e.i,number,-0.0", "e.j,number,9223372036854775808", "e.k,number,1.5e+300"]
    texts += [",number,5", ",number,1", ",str,plain", "four,str,six", "é.x,str,cafe", "a,b,str,x"]
    texts += [
        "quote,str,hi",
        "title,str,w3 w4",
        "tags,str,w1;title,str,w3;n,number,4",
        "in.x,str,w7",
    ]
    found = [match(text, "j") for text in texts if not text.startswith("a,b")]
    found += [match("title,str,w3 w4;n,number,2", "j", operator=both)]
    found += [
        module.PhraseQuery("title,str,w3 w4", "j"),
        module.PhraseQuery("b.c,str,world e", "j"),
    ]
    return found


def answer(library: ModuleType, uri: str, query: Any) -> dict[int, float]:
    rows = library.dataset(uri).to_table(columns=["id", "_score"], full_text_query=query)
    return dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def assert_same(uri: str) -> None:
    for theirs, own in zip(queries(lance.query), queries(lance_core.query), strict=True):
        expected = answer(lance, uri, theirs)
        assert answer(lance_core, uri, own) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("library", [lance, lance_core])
def test_json_documents_have_the_same_rows_and_scores(library: ModuleType, tmp_path: Path) -> None:
    uri = create(library, tmp_path / "t")
    stats = lance.dataset(uri).stats.index_stats("j_idx")["indices"][0]
    assert stats["params"]["lance_tokenizer"] == "json"
    assert lance_core.dataset(uri).stats.index_stats("j_idx")["indices"][0] == stats
    assert stats["num_docs"] == 306
    assert_same(uri)
    lance.write_dataset(pa.table({"id": [400], "j": _json(documents(1)[-1:])}), uri, mode="append")
    lance.dataset(uri).delete("id % 11 = 3")
    assert_same(uri)
    maintained = lance_core if library is lance else lance
    maintained.dataset(uri).optimize.optimize_indices()
    maintained.dataset(uri).optimize.compact_files()
    assert_same(uri)


def test_triples_and_columns_are_checked(tmp_path: Path) -> None:
    dataset = lance_core.dataset(create(lance_core, tmp_path / "t"))
    for text in ("title", "title,str", "title,text,w1"):
        with pytest.raises(InvalidInputError, match=r"triples|none of"):
            dataset.to_table(full_text_query=lance_core.query.MatchQuery(text, "j"))
    found = dataset.to_table(
        ["id"], full_text_query=lance_core.query.MatchQuery("title,str,pottr", "j", fuzziness=2)
    )
    assert 0 in found["id"].to_pylist()
    table = pa.table({"b": pa.array([b"{}"], pa.large_binary())})
    binary = lance_core.write_dataset(table, tmp_path / "b")
    with pytest.raises(TypeError, match="b cannot have an index"):
        binary.create_scalar_index("b", "INVERTED")
    with pytest.raises(InvalidInputError, match="JSON documents are searched"):
        binary.to_table(full_text_query=lance_core.query.MatchQuery("x,str,y", "b"))


def test_documents_without_an_index_are_searched(tmp_path: Path) -> None:
    table = pa.table({"id": range(8), "j": _json(documents(0))})
    dataset = lance_core.write_dataset(table, tmp_path / "t")
    with pytest.warns(Warning, match="no text index"):
        found = dataset.to_table(
            ["id"], full_text_query=lance_core.query.MatchQuery("b.c,str,hello", "j")
        )
    assert found["id"].to_pylist() == [0]


@pytest.mark.parametrize("library", [lance, lance_core])
def test_fields_in_structs(library: ModuleType, tmp_path: Path) -> None:
    texts = [f"w{number % 5} w{number % 3}" for number in range(60)]
    inner = pa.StructArray.from_arrays([pa.array(texts), pa.array(range(60))], ["t", "n"])
    table = pa.table({"id": range(60), "s": inner})
    uri = str(tmp_path / "t")
    lance_core.write_dataset(table, uri, max_rows_per_file=40)
    library.dataset(uri).create_scalar_index("s.t", "INVERTED", stem=False)
    for text in ("w4", "w1 w2"):
        expected = answer(lance, uri, lance.query.MatchQuery(text, "s.t"))
        own = answer(lance_core, uri, lance_core.query.MatchQuery(text, "s.t"))
        assert own == pytest.approx(expected, rel=1e-5)
        assert answer(lance_core, uri, text) == own
