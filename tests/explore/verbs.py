"""Verbs of the public API, of which one runs whole while another one is under way.

One verb stops before one of its calls of the store, the other verb runs to its end, and the first
one goes on: before each call that other writers can notice. Whatever both come to, the table must
hold what one after the other would have made of it, and no file that belongs to nothing.

``python -m tests.explore.verbs`` tries all ordered pairs.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from lance_core.errors import CommitConflictError, LanceError
from lance_core.indices import Index, IndexConfig
from lance_core.plugins import open_store
from lance_core.query import MatchQuery
from lance_core.store.memory import MemoryStore
from lance_core.table.indices.index_metadata import parse_index_section

Call = Callable[[lance.LanceDataset], object]
Content = tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], str, tuple[str, ...]]
"""Columns with types, rows in the order of their keys, the config, and the names of indices."""

VECTOR = pa.list_(pa.float32(), 8)

FOLDERS = ("data", "_deletions", "_indices")
CALLS = ("delete", "get", "head", "list", "list_names", "put")


def _table(keys: Sequence[int], factor: int, texts: Sequence[str]) -> pa.Table:
    documents = pa.array([f'{{"x": {key % 4}}}' for key in keys], pa.json_())
    numbers = [factor * key for key in keys]
    vectors = pa.array([[factor * key, key % 3, *range(6)] for key in keys], VECTOR)
    return pa.table({"k": keys, "n": numbers, "s": texts, "j": documents, "v": vectors})


START = _table(range(1, 7), 1, "abcdef")
WORDS = ("a", "b", "c", "d", "e", "f", "new")
"""The texts of rows."""


def _rows(*keys: int) -> pa.Table:
    return _table(keys, 10, ["new"] * len(keys))


def _upsert(dataset: lance.LanceDataset, *keys: int) -> None:
    merge = dataset.merge_insert("k").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(_rows(*keys))


def _insert(dataset: lance.LanceDataset, *keys: int) -> None:
    dataset.merge_insert("k").when_not_matched_insert_all().execute(_rows(*keys))


def _mirror(dataset: lance.LanceDataset, *keys: int) -> None:
    """Afterwards there are these rows and no others."""
    merge = dataset.merge_insert("k").when_matched_update_all().when_not_matched_insert_all()
    merge.when_not_matched_by_source_delete().execute(_rows(*keys))


def _compact(dataset: lance.LanceDataset, mode: str) -> None:
    """Merge all fragments; also one that has lost any row."""
    dataset.optimize.compact_files(compaction_mode=mode, materialize_deletions_threshold=0.0)


def _index_documents(dataset: lance.LanceDataset) -> None:
    config = IndexConfig("json", {"path": "x", "target_index_type": "btree"})
    dataset.create_scalar_index("j", config, name="documents")


_uncommitted = set[str]()
"""The data files and segments of indices that verbs write before they commit them themselves."""


def _segment(dataset: lance.LanceDataset, column: str, name: str, fragment_id: int) -> Index:
    segment = dataset.create_index_uncommitted(
        column, "BTREE", name=name, replace=True, fragment_ids=[fragment_id]
    )
    _uncommitted.add(segment.uuid)
    return segment


def _index_by_segments(dataset: lance.LanceDataset) -> None:
    """One process for each fragment; two segments are merged before the commit."""
    ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
    segments = [_segment(dataset, "s", "new", id_) for id_ in ids]
    merged = dataset.merge_existing_index_segments(segments[:2])
    _uncommitted.add(merged.uuid)
    dataset.commit_existing_index_segments("new", "s", [merged, *segments[2:]])


def _add_segment(dataset: lance.LanceDataset) -> None:
    """The index covers the last fragment, too."""
    last = dataset.get_fragments()[-1].fragment_id
    dataset.commit_existing_index_segments("old", "k", [_segment(dataset, "k", "old", last)])


def _replace_values(dataset: lance.LanceDataset) -> None:
    """Values are replaced in place, by a writer that does not state the mode of its update."""
    part = dataset.get_fragments()[0]
    ids = part.to_table(columns=[], with_row_id=True)["_rowid"]
    new = pa.table({"_rowid": ids.slice(0, 1), "n": [70]})
    fragment, fields = part.update_columns(new)
    _uncommitted.update(file.path for file in fragment.files)
    operation = lance.LanceOperation.Update(
        updated_fragments=[fragment], fields_modified=list(fields)
    )
    lance.LanceDataset.commit(dataset, operation, dataset.version)


def _clean_up(dataset: lance.LanceDataset) -> None:
    with warnings.catch_warnings(action="ignore"):  # of versions that are too young
        dataset.cleanup_old_versions(older_than=timedelta(0))


VERBS: dict[str, Call] = {
    "append": lambda dataset: dataset.insert(_rows(20, 21)),
    "append some columns": lambda dataset: dataset.insert(_rows(22).select(["k", "n"])),
    "delete": lambda dataset: dataset.delete("k IN (2, 3)"),
    "delete a fragment": lambda dataset: dataset.delete("k <= 3"),
    "update": lambda dataset: dataset.update({"n": "n + 100"}, "k IN (1, 2)"),
    "update other rows": lambda dataset: dataset.update({"n": "n + 100"}, "k = 3"),
    "update all": lambda dataset: dataset.update({"n": "n * 2"}),
    "upsert": lambda dataset: _upsert(dataset, 2, 7),
    "upsert new rows": lambda dataset: _upsert(dataset, 7, 8),
    "insert new rows": lambda dataset: _insert(dataset, 7, 1),
    "mirror": lambda dataset: _mirror(dataset, 1, 7),
    "update some columns": lambda dataset: (
        dataset.merge_insert("k").when_matched_update_all().execute(_rows(1, 4).select(["k", "n"]))
    ),
    "replace values": _replace_values,
    "add nulls": lambda dataset: dataset.add_columns(pa.field("new", pa.int64())),
    "add by SQL": lambda dataset: dataset.add_columns({"sql": "n + 1"}),
    "join": lambda dataset: dataset.merge(pa.table({"k": [1, 9], "more": [5, 6]}), "k"),
    "rename": lambda dataset: dataset.alter_columns({"path": "s", "name": "t"}),
    "cast": lambda dataset: dataset.alter_columns({"path": "n", "data_type": pa.int32()}),
    "drop": lambda dataset: dataset.drop_columns(["s"]),
    "overwrite": lambda dataset: lance.write_dataset(_rows(30), dataset, mode="overwrite"),
    "compact": lambda dataset: _compact(dataset, "reencode"),
    "compact by copying": lambda dataset: _compact(dataset, "try_binary_copy"),
    "compact and defer": lambda dataset: dataset.optimize.compact_files(
        materialize_deletions_threshold=0.0, defer_index_remap=not dataset.has_stable_row_ids
    ),
    "create an index": lambda dataset: dataset.create_scalar_index("s", "BTREE", name="new"),
    "create a bitmap": lambda dataset: dataset.create_scalar_index("n", "BITMAP", name="bits"),
    "create zones": lambda dataset: dataset.create_scalar_index("n", "ZONEMAP", name="zones"),
    "index documents": _index_documents,
    "index by segments": _index_by_segments,
    "add a segment": _add_segment,
    "index vectors": lambda dataset: dataset.create_index(
        "v", "IVF_SQ", name="near", num_partitions=2
    ),
    "index vectors again": lambda dataset: dataset.create_index(
        "v", "IVF_FLAT", name="close", num_partitions=1
    ),
    "index words": lambda dataset: dataset.create_scalar_index(
        "s", "INVERTED", name="words", stem=False, remove_stop_words=False
    ),
    "change vectors": lambda dataset: (
        dataset.merge_insert("k").when_matched_update_all().execute(_rows(1, 4).select(["k", "v"]))
    ),
    "index again": lambda dataset: dataset.create_scalar_index("k", "BTREE", name="old"),
    "index without training": lambda dataset: dataset.create_scalar_index(
        "k", "BITMAP", name="old", train=False
    ),
    "drop an index": lambda dataset: dataset.drop_index("old"),
    "optimize": lambda dataset: dataset.optimize.optimize_indices(),
    "optimize and add segments": lambda dataset: dataset.optimize.optimize_indices(
        num_indices_to_merge=0
    ),
    "retrain": lambda dataset: dataset.optimize.optimize_indices(retrain=True),
    "clean up": _clean_up,
    "configure": lambda dataset: dataset.update_config({"a": "1"}),
}


def content(dataset: lance.LanceDataset) -> Content:
    """What a table holds."""
    table = dataset.to_table()
    order = pc.sort_indices(table["k"])
    rows = table.take(order).to_pylist()
    names = sorted(table.column_names)
    columns = tuple(f"{name}: {table.schema.field(name).type}" for name in names)
    config = {key: value for key, value in dataset.config().items() if key == "a"}
    indices = tuple(sorted(index.name for index in dataset.describe_indices()))
    return columns, tuple(tuple(row[name] for name in names) for row in rows), str(config), indices


@dataclass
class Interruption:
    """Runs ``other`` before a call of the store: the one at ``place`` among those that count."""

    other: Callable[[], object]
    place: int
    seen: int = 0
    thread: int = field(default_factory=threading.get_ident)
    is_over: bool = False

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Every store in memory takes part."""
        with contextlib.ExitStack() as stack:
            for name in CALLS:
                original = getattr(MemoryStore, name)
                stack.enter_context(mock.patch.object(MemoryStore, name, self._around(original)))
            yield

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(store: MemoryStore, path: str = "", *rest: Any, **options: Any) -> Any:
            if self._counts(path):
                self.seen += 1
                if self.seen > self.place:
                    self.is_over = True
                    self.other()
            return original(store, path, *rest, **options)

        return call

    def _counts(self, path: str) -> bool:
        """Versions are all that others see; files of data have names of their own."""
        return not self.is_over and "_versions" in path and threading.get_ident() == self.thread


def new_table(stable: bool) -> str:
    """The address of a table of three fragments, of which two indices cover the first two."""
    uri = f"memory://{uuid.uuid4()}/table"
    store = open_store(uri)
    for path, content in _objects_of_a_table(stable).items():
        store.put(path, content)
    return uri


@functools.cache
def _objects_of_a_table(stable: bool) -> dict[str, bytes]:
    """What is at each path of such a table: to copy them takes less than to write the table."""
    uri = f"memory://{uuid.uuid4()}/table"
    dataset = lance.write_dataset(START.slice(0, 3), uri, enable_stable_row_ids=stable)
    for start, stop in ((3, 5), (5, 6)):
        dataset.insert(START.slice(start, stop - start))
    segment = dataset.create_index_uncommitted("k", "BTREE", name="old", fragment_ids=[0, 1])
    dataset.commit_existing_index_segments("old", "k", [segment])
    segment = dataset.create_index_uncommitted(
        "v", "IVF_FLAT", name="close", num_partitions=2, fragment_ids=[0, 1]
    )
    dataset.commit_existing_index_segments("close", "v", [segment])
    store = open_store(uri)
    return {found.path: bytes(store.get(found.path)) for found in store.list("")}


def refusal(name: str, dataset: lance.LanceDataset) -> LanceError | None:
    """The error of a verb, None if it succeeds."""
    try:
        VERBS[name](dataset)
    except LanceError as error:
        return error
    return None


@functools.cache
def one_after_the_other(stable: bool, *names: str) -> Content | None:
    """What verbs make of a table; None where one of them is refused."""
    uri = new_table(stable)
    if any(refusal(name, lance.dataset(uri)) for name in names):
        return None
    return content(lance.dataset(uri))


@dataclass(frozen=True)
class Pair:
    """Two verbs, on a table with stable row ids or without."""

    first: str
    second: str
    stable: bool

    def violation(self, place: int) -> str | None:
        """What is wrong if the second verb comes at a place; None behind the last place."""
        uri = new_table(self.stable)
        dataset, others = lance.dataset(uri), list[LanceError | None]()
        interruption = Interruption(
            lambda: others.append(refusal(self.second, lance.dataset(uri))), place
        )
        with interruption.applied():
            error = refusal(self.first, dataset)
        if not others:
            return None
        return self._judged(lance.dataset(uri), error, others[0])

    def _judged(
        self, dataset: lance.LanceDataset, error: LanceError | None, other: LanceError | None
    ) -> str:
        """``error`` of the first verb, ``other`` of the second one."""
        both = (self.second, self.first), (self.first, self.second)
        orders = both if error is None else ((self.second,),)
        if other is not None:  # it comes too late, or is refused where it comes first
            tried = both[1], (self.second,)
            is_right = any(one_after_the_other(self.stable, *order) is None for order in tried)
            orders = ((self.first,),) if is_right else ()
        allowed = [one_after_the_other(self.stable, *order) for order in orders]
        found = content(dataset)
        if found not in allowed:
            return f"{error!r}, {other!r}: {found} is none of {allowed}"
        is_refused = error is not None and one_after_the_other(self.stable, *both[0])
        if is_refused and not isinstance(error, CommitConflictError):
            return f"{error!r} is no conflict"
        dataset.validate()
        return wrong_answers(dataset) or leftovers(dataset)


def wrong_answers(dataset: lance.LanceDataset) -> str:
    """Conditions for which indices do not find the rows that a scan has."""
    wrong = []
    described = dataset.describe_indices()
    of_words = {index.field_names[0] for index in described if index.index_type == "Inverted"}
    indexed = [index.field_names[0] for index in described]
    # The keys stand for the rows: it is the indices' answers that are compared.
    columns = list(dict.fromkeys(["k", *(name for name in indexed if name != "j")]))
    rows = dataset.to_table(columns, use_scalar_index=False).to_pydict()
    for column in indexed:
        if column == "v":
            wrong += [f"nearest to {query}" for query in (0, 40) if not _finds(dataset, query)]
            continue
        if column in of_words:
            words = [word for word in WORDS if not _matches(dataset, rows, column, word)]
            wrong += [f"rows with the word {word}" for word in words]
        for text, accepts in _conditions(column):
            if accepts is None:
                found = dataset.to_table(["k"], filter=text, use_scalar_index=False)
                expected = found["k"].to_pylist()
            else:
                pairs = zip(rows["k"], rows[column], strict=True)
                expected = [key for key, value in pairs if accepts(value)]
            if dataset.to_table(["k"], filter=text)["k"].to_pylist() != expected:
                wrong.append(text)
    return f"indices do not answer {', '.join(wrong)}" if wrong else ""


def _finds(dataset: lance.LanceDataset, number: int) -> bool:
    """True if vectors are found by their indices as without them."""
    every = {"nprobes": 9, "refine_factor": 9}
    nearest = {"column": "v", "q": [number, 1, *range(6)], "k": 4, "metric": "l2"}
    found = dataset.to_table(["k"], nearest=nearest | every)
    return bool(found == dataset.to_table(["k"], nearest=nearest | {"use_index": False}))


def _matches(
    dataset: lance.LanceDataset, rows: Mapping[str, Sequence[object]], column: str, word: str
) -> bool:
    """True if a word is found in the rows whose text it is."""
    found = dataset.to_table(["k"], full_text_query=MatchQuery(word, column))["k"].to_pylist()
    pairs = zip(rows["k"], rows[column], strict=True)
    return sorted(found) == sorted(key for key, value in pairs if value == word)


def _conditions(column: str) -> Iterator[tuple[str, Callable[[object], bool] | None]]:
    """Conditions on an indexed column as SQL, and as a function of its value, except of JSON."""
    if column == "j":
        yield from ((f"json_get_int(j, 'x') = {value}", None) for value in range(5))
        return
    values: Sequence[object] = (*range(1, 10), 70, 101)
    if column not in ("k", "n"):
        values = WORDS
    for start in range(3):  # an index answers each of three values by itself, a scan once
        some = values[start::3]
        yield f"{column} IN {tuple(some)!r}", partial(operator.contains, some)
    yield f"{column} IS NOT NULL", lambda value: value is not None
    yield f"{column} IS NULL", lambda value: value is None


def leftovers(dataset: lance.LanceDataset) -> str:
    """Files that no version names."""
    store = dataset.snapshot.root.store
    named: set[str] = set()
    for described in dataset.versions():
        snapshot = dataset.checkout_version(described["version"]).snapshot
        for index in parse_index_section(snapshot.file.index_section):
            named |= {f"_indices/{index.uuid}/{file.path}" for file in index.files}
        for fragment in snapshot.file.manifest.fragments:
            named |= {f"data/{file.path}" for file in fragment.files}
            if fragment.deletion_file is not None:
                named.add(fragment.deletion_file.store_path(fragment.id))
    found = (meta.path for folder in FOLDERS for meta in store.list(folder))
    there = {path for path in found if path.split("/")[1] not in _uncommitted}
    return f"files of no version: {sorted(there - named)}" if there - named else ""


def pairs() -> Iterator[Pair]:
    """All of them."""
    for first, second, stable in itertools.product(VERBS, VERBS, (False, True)):
        yield Pair(first, second, stable)


def violations(pair: Pair) -> list[str]:
    """What is wrong at each place; an empty text where nothing is."""
    places = (pair.violation(place) for place in itertools.count())
    found = itertools.takewhile(lambda text: text is not None, places)
    return [f"{pair}, place {place}: {text}" if text else "" for place, text in enumerate(found)]


def main() -> int:
    tried = wrong = 0
    with ProcessPoolExecutor(2, get_context("forkserver")) as pool:
        for found in pool.map(violations, pairs(), chunksize=10):
            tried += len(found)
            wrong += len(list(filter(None, found)))
            sys.stdout.writelines(f"{text}\n" for text in found if text)
    sys.stdout.write(f"{tried} schedules of pairs of verbs, {wrong} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
