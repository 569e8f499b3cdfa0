"""Text indices that pylance builds: the same terms, rows and scores here as there."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import lance.query
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader

import lance_core
import lance_core.query
from lance_core_text import analyze
from lance_core_text.postings.fst import Fst
from lance_core_text.write.encode_fst import FstWriter
from tests.text.corpus import texts

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS = 700

KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "positions": {"with_position": True},
    "format-1": {"with_position": True, "format_version": 1},
    "format-3": {"with_position": True, "block_size": 256},
    "raw": {"base_tokenizer": "raw"},
    "ngram": {"base_tokenizer": "ngram", "min_ngram_length": 2},
    "code": {
        "base_tokenizer": "code",
        "split_identifiers": True,
        "index_operators": True,
        "stem": True,
    },
    "french": {"language": "French", "custom_stop_words": ["w3"]},
}


def documents(rows: int = ROWS, seed: int = 1) -> list[str | None]:
    found = texts(rows, seed)
    found[10] = "The quick brown foxes were running over Lazy dogs' naïve Café, e-mail: x@y.com"
    found[11] = "w1 " * 900 + "w2"
    return found


def create(path: Path, kind: str) -> str:
    """A table with an index, and rows that it does not cover; some rows are deleted."""
    uri, own = str(path), documents()
    lance.write_dataset(pa.table({"id": range(ROWS), "t": own}), uri, max_rows_per_file=400)
    lance.dataset(uri).create_scalar_index("t", "INVERTED", **KINDS[kind])
    return uri


def append(uri: str, first: int = ROWS) -> None:
    more = pa.table({"id": range(first, first + 50), "t": documents(50, seed=9)})
    lance.write_dataset(more, uri, mode="append")
    lance.dataset(uri).delete("id % 11 = 3")


def queries(module: ModuleType, *, with_phrases: bool) -> Iterator[Any]:
    """The same queries, made of the classes of pylance or of this library."""
    match, both = module.MatchQuery, module.FullTextOperator.AND
    yield match("w0", "t")
    yield match("w5 w17 W30", "t")
    yield match("w1 w2", "t", operator=both, boost=2.0)
    yield match("foxes Running café", "t")
    yield match("nothing the", "t")
    must, should, never = module.Occur.MUST, module.Occur.SHOULD, module.Occur.MUST_NOT
    clauses = [(must, match("w1", "t")), (should, match("w4", "t")), (never, match("w2", "t"))]
    yield module.BooleanQuery(clauses)
    yield module.BoostQuery(match("w3", "t"), match("w1 w2", "t"), negative_boost=0.3)
    if with_phrases:
        yield module.PhraseQuery("w1 w0", "t")
        yield module.PhraseQuery("w0 w0 w1", "t")
        yield module.PhraseQuery("w1 w0", "t", slop=2)
        yield module.PhraseQuery("foxes were running", "t")


def answer(library: Any, uri: str, query: Any, **options: Any) -> dict[int, float]:
    """The scores by the ids of the rows that a search of a freshly opened table returns."""
    return search(library.dataset(uri), query, **options)


def search(dataset: Any, query: Any, **options: Any) -> dict[int, float]:
    with warnings.catch_warnings():
        if isinstance(dataset, lance_core.LanceDataset):
            warnings.simplefilter("error")
        rows = dataset.to_table(columns=["id", "_score"], full_text_query=query, **options)
    return dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def assert_same(uri: str, kind: str, **options: Any) -> None:
    """Both libraries, which open the table once, answer all queries alike."""
    with_phrases = "with_position" in KINDS[kind]
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    their_queries = queries(lance.query, with_phrases=with_phrases)
    our_queries = queries(lance_core.query, with_phrases=with_phrases)
    for their_query, our_query in zip(their_queries, our_queries, strict=True):
        expected = search(theirs, their_query, **options)
        found = search(ours, our_query, **options)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
        head = search(ours, our_query, limit=7, **options)
        assert list(head.items()) == list(found.items())[:7]
        scores = sorted(search(theirs, their_query, limit=7, **options).values(), reverse=True)
        assert list(head.values()) == pytest.approx(scores, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_scores_are_those_of_pylance(tmp_path: Path, kind: str) -> None:
    uri = create(tmp_path / "t", kind)
    some = {"filter": "id % 3 = 1", "prefilter": True} if kind == "format-3" else {}
    assert_same(uri, kind, **some)


def test_rows_that_the_index_does_not_cover_are_found(tmp_path: Path) -> None:
    uri = create(tmp_path / "t", "positions")
    append(uri)
    assert_same(uri, "positions")
    assert_same(uri, "positions", filter="id < 100 or id > 710", prefilter=True)
    assert_same(uri, "positions", fast_search=True)


def test_segments_have_common_statistics(tmp_path: Path) -> None:
    uri = create(tmp_path / "t", "positions")
    append(uri)
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    assert len(lance.dataset(uri).describe_indices()) == 1
    assert_same(uri, "positions")
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=2)
    assert_same(uri, "positions")
    lance.dataset(uri).optimize.compact_files()
    assert_same(uri, "positions")


def test_row_ids_that_are_stable(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    table = pa.table({"id": range(ROWS), "t": documents()})
    options = {"max_rows_per_file": 300, "enable_stable_row_ids": True}
    lance.write_dataset(table, uri, **options)
    lance.dataset(uri).create_scalar_index("t", "INVERTED", with_position=True)
    append(uri)
    lance.dataset(uri).update({"t": "'w5 moved'"}, where="id = 20")
    assert_same(uri, "positions")


def test_texts_search_all_columns_with_an_index(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    table = pa.table({"id": range(ROWS), "t": documents(), "u": documents(seed=4)})
    lance.write_dataset(table, uri)
    for column in ("t", "u"):
        lance.dataset(uri).create_scalar_index(column, "INVERTED")
    for query in ("w9 w4", {"query": "w9", "columns": ["u"]}):
        assert answer(lance_core, uri, query) == pytest.approx(answer(lance, uri, query), rel=1e-5)


@pytest.mark.parametrize("kind", ["positions", "ngram"])
def test_lists_are_texts_with_spaces_between_them(tmp_path: Path, kind: str) -> None:
    lists = [["ab", None, "cd"], ["ab", "", "cd"], ["", "ab"], ["ab", ""], [""], [None], [], None]
    rows = pa.table({"id": range(8), "t": pa.array(lists, pa.list_(pa.string()))})
    parameters = {"with_position": True, "stem": False, **KINDS[kind]}
    uris = [str(tmp_path / library.__name__) for library in (lance, lance_core)]
    for uri, library in zip(uris, (lance, lance_core), strict=True):
        lance.write_dataset(rows, uri)
        library.dataset(uri).create_scalar_index("t", "INVERTED", **parameters)
    for query in ("ab", "b c", "b  ", "  c", " a"):
        expected = answer(lance, uris[0], lance.query.MatchQuery(query, "t"))
        for uri in uris:
            found = answer(lance_core, uri, lance_core.query.MatchQuery(query, "t"))
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    if kind == "positions":
        phrase = lance_core.query.PhraseQuery("ab cd", "t")
        assert all(set(answer(lance_core, uri, phrase)) == {0, 1} for uri in uris)


def test_a_phrase_needs_positions(tmp_path: Path) -> None:
    uri = create(tmp_path / "t", "default")
    with pytest.raises(ValueError, match="with_position"):
        answer(lance_core, uri, lance_core.query.PhraseQuery("w1 w0", "t"))


def test_statistics_name_parameters_and_counts(tmp_path: Path) -> None:
    uri = create(tmp_path / "t", "default")
    own = lance_core.dataset(uri).stats.index_stats("t_idx")
    theirs = lance.dataset(uri).stats.index_stats("t_idx")
    assert own["indices"] == theirs["indices"]
    lance_core.dataset(uri).prewarm_index("t_idx")


def test_damage_is_an_error_or_a_scan(tmp_path: Path) -> None:
    uri = create(tmp_path / "t", "default")
    expected = answer(lance_core, uri, "w5 w17")
    (folder,) = (Path(uri) / "_indices").iterdir()
    random = np.random.default_rng(5)
    for name in ("part_0_invert.lance", "part_0_tokens.lance", "part_0_docs.lance"):
        for number in range(4):
            copy = tmp_path / f"{name}{number}"
            shutil.copytree(uri, copy)
            path = copy / "_indices" / folder.name / name
            data = bytearray(path.read_bytes())
            for place in random.integers(0, len(data), 4):
                data[place] ^= int(random.integers(1, 256))
            path.write_bytes(data)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = lance_core.dataset(copy).to_table(
                    columns=["id"], full_text_query=lance_core.query.MatchQuery("w5 w17", "t")
                )
            assert found.num_rows <= ROWS
    assert expected


def test_analyze_has_the_terms_of_pylance(tmp_path: Path) -> None:
    text = "Größe ÉTÉ İstanbul ΟΔΟΣ नमस्ते ﬁnancial Ⅷ weren't x₂ 中文 résumés"
    for number, language in enumerate(("English", "German", "Turkish", "Greek")):
        uri = str(tmp_path / str(number))
        lance.write_dataset(pa.table({"id": [0], "t": [text]}), uri)
        lance.dataset(uri).create_scalar_index("t", "INVERTED", language=language)
        terms = [token.term for token in analyze(text, language=language)]
        stats = lance.dataset(uri).stats.index_stats("t_idx")["indices"][0]
        assert stats["num_tokens"] == len(set(terms))
        for token in analyze(text, language=language):
            word = text.encode()[token.start : token.stop].decode()
            assert len(answer(lance, uri, lance.query.MatchQuery(word, "t"))) == 1


@pytest.mark.parametrize("kind", ["default", "positions", "format-1", "format-3"])
def test_postings_have_the_bytes_of_pylance(tmp_path: Path, kind: str) -> None:
    found: list[dict[str, dict[str, Any]]] = []
    own = [f"{text or ''} {'w0 ' * (number % 300)}" for number, text in enumerate(documents())]
    for library in (lance, lance_core):
        uri = str(tmp_path / library.__name__)
        library.write_dataset(pa.table({"t": own}), uri)
        options = {**KINDS[kind], "stem": False, "num_workers": 1}
        library.dataset(uri).create_scalar_index("t", "INVERTED", **options)
        (folder,) = (Path(uri) / "_indices").iterdir()
        rows = LanceFileReader(str(folder / "part_0_invert.lance")).read_all().to_table()
        # The numbers of terms are in another order: that of the bytes here.
        tables = rows.to_pylist()
        for row in tables:
            del row["_max_score"]
            if kind != "format-3":  # without the best scores, whose last bits differ
                row["_posting"] = [block[4:] for block in row["_posting"]]
        found.append({str(row): row for row in tables})
    assert found[0].keys() == found[1].keys()


def test_transducers_of_terms_have_the_bytes_of_pylance(tmp_path: Path) -> None:
    theirs, uri = create(tmp_path / "theirs", "default"), str(tmp_path / "t")
    lance.write_dataset(pa.table({"id": range(ROWS), "t": documents()}), uri)
    lance_core.dataset(uri).create_scalar_index("t", "INVERTED", token_set_format="fst")
    rows = []
    for path in (theirs, uri):
        (tokens,) = Path(path).glob("_indices/*/part_0_tokens.lance")
        rows.append(LanceFileReader(str(tokens)).read_all().to_table())
    assert rows[0].schema == rows[1].schema
    ((stored,), (own,)) = (table.to_pylist() for table in rows)
    names = [name for name in stored if name != "_token_fst_bytes"]
    assert [own[name] for name in names] == [stored[name] for name in names]
    # The numbers of terms are in another order here: with those of pylance, all bytes are the same.
    terms, numbers = Fst(pa.py_buffer(stored["_token_fst_bytes"])).items()
    writer = FstWriter()
    for term, number in zip(terms.to_pylist(), numbers.tolist(), strict=True):
        writer.add([term], number)
    assert writer.finish() == stored["_token_fst_bytes"]
    for query in queries(lance.query, with_phrases=False):
        expected = answer(lance, theirs, query)
        assert answer(lance, uri, query) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert_same(uri, "default")
    append(uri)
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=10)
    assert_same(uri, "default")


@pytest.mark.parametrize("kind", ["positions", "french", "code", "format-1", "format-3"])
def test_pylance_uses_and_maintains_an_index_that_is_built_here(tmp_path: Path, kind: str) -> None:
    uri = str(tmp_path / "t")
    rows = pa.table({"id": range(ROWS), "t": documents()})
    lance.write_dataset(rows, uri, max_rows_per_file=400)
    lance_core.dataset(uri).create_scalar_index("t", "INVERTED", **KINDS[kind])
    theirs = create(tmp_path / "theirs", kind)
    with_phrases = "with_position" in KINDS[kind]
    for query in queries(lance.query, with_phrases=with_phrases):
        expected = answer(lance, theirs, query)
        assert answer(lance, uri, query) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert_same(uri, kind)
    append(uri)
    assert_same(uri, kind)
    lance.dataset(uri).optimize.optimize_indices()
    lance.dataset(uri).optimize.compact_files()
    assert_same(uri, kind)
    lance_core.dataset(uri).optimize.optimize_indices(num_indices_to_merge=10)
    append(uri, ROWS + 50)
    lance_core.dataset(uri).optimize.compact_files()
    lance_core.dataset(uri).optimize.optimize_indices()
    assert_same(uri, kind)
