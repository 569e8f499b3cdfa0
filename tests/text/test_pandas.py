"""Neither builds nor searches of texts import pandas, which takes longer than most of them."""

from __future__ import annotations

from pathlib import Path

from tests.pandas_imports import run_watched

SCRIPT = """
import numpy as np, pyarrow as pa
import lance_core
from lance_core.query import (
    BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, PhraseQuery
)
from lance_core_text import analyze, highlight
from lance_core_text.explain_score import explain_score
from lance_core_text.hybrid import hybrid

def texts(values):
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer("".join(values).encode())]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)

words = ["a red house", "the green door of a house", "no window", "red doors, red roofs"] * 20
values = texts(words)
offsets = pa.Array.from_buffers(pa.int32(), 41, [None, pa.py_buffer(np.arange(0, 82, 2, np.int32))])
lists = pa.ListArray.from_arrays(offsets, values)
numbers = pa.Array.from_buffers(pa.float32(), 160, [None, pa.py_buffer(np.arange(160, dtype="f4"))])
table = pa.Table.from_arrays(
    [values.slice(0, 40), values.slice(40), lists,
     pa.FixedSizeListArray.from_arrays(numbers, 4)],
    schema=pa.schema([
        ("t", pa.string()), ("u", pa.string()), ("l", lists.type),
        ("v", pa.list_(pa.float32(), 4)),
    ]),
)
dataset = lance_core.write_dataset(table, sys.argv[1], max_rows_per_file=20)
check("write_dataset")
dataset.to_table(full_text_query=MatchQuery("red", "t"))
check("a search without an index")
for column, options in (
    ("t", {"with_position": True}), ("u", {"base_tokenizer": "code"}), ("l", {}),
):
    dataset.create_scalar_index(column, "INVERTED", **options)
    check(f"an index of {column}")
dataset = lance_core.write_dataset(table.slice(0, 3), dataset.uri, mode="append")
red, house = MatchQuery("red", "t"), MatchQuery("house", "t")
for query in (
    "red", red, PhraseQuery("red house", "t"), MatchQuery("rod", "t", fuzziness=1),
    BooleanQuery([(Occur.MUST, red), (Occur.MUST_NOT, house)]), BoostQuery(red, house),
    MultiMatchQuery("door", ["t", "u"]), MatchQuery("green", "l"),
):
    dataset.to_table(full_text_query=query)
    dataset.to_table(full_text_query=query, filter="t LIKE '%o%'", limit=2, with_row_id=True)
    check(query)
dataset.to_table(filter="contains_tokens(t, 'red')")
check("contains_tokens")
analyze("Größe der Häuser", language="German")
check("analyze")
highlight(dataset.to_table(full_text_query="red")["t"], red)
check("highlight")
explain_score(dataset, red, 0)
check("explain_score")
hybrid(dataset, nearest={"column": "v", "q": np.zeros(4, np.float32)}, full_text_query=red, k=3)
check("hybrid")
dataset.optimize.optimize_indices()
check("optimize_indices")
dataset.optimize.compact_files()
check("compact_files")
dataset.stats.index_stats("t_idx")
check("index_stats")
"""


def test_no_verb_of_texts_imports_pandas(tmp_path: Path) -> None:
    run_watched(SCRIPT, tmp_path / "texts")
