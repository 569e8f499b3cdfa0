"""Search engines that are no tables: tantivy and bm25s, each measured if it is installed.

They split texts at other places than Lance does, so that only times are compared. Each is in a
process of its own, has the texts in memory, and returns the numbers of the best rows.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.processes.subject import Build, SubjectProcess, measured
from benchmarks.texts.questions import Question
from benchmarks.texts.shapes import Shape
from benchmarks.texts.worker import Timings, timed

HEAP_BYTES = 256 << 20
"""Bytes that tantivy may collect before it writes them."""


class Engine(ABC):
    """An engine with an index of all texts."""

    forms: frozenset[str]
    """The forms of a `Question` that it answers."""

    @abstractmethod
    def __init__(self, folder: Path, texts: list[str], *, with_position: bool) -> None:
        """Build the index."""

    @property
    @abstractmethod
    def index_bytes(self) -> int:
        """The size of the index."""

    @abstractmethod
    def query(self, question: Question) -> Any:
        """The question in the engine's own form."""

    @abstractmethod
    def search(self, query: Any, limit: int) -> Sequence[int]:
        """The numbers of the best texts."""


class Tantivy(Engine):
    """An index of tantivy with one segment or several, as its two threads make them."""

    forms = frozenset({"any", "all", "phrase", "boolean", "fuzzy"})

    def __init__(self, folder: Path, texts: list[str], *, with_position: bool) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        option = "position" if with_position else "freq"
        builder.add_text_field("t", tokenizer_name="en_stem", index_option=option)
        builder.add_integer_field("id", stored=True)
        self._folder, self._schema = folder, builder.build()
        folder.mkdir(parents=True)
        self._index = tantivy.Index(self._schema, path=str(folder))
        writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=2)
        for number, text in enumerate(texts):
            writer.add_document(tantivy.Document(t=text, id=number))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def index_bytes(self) -> int:
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def query(self, question: Question) -> Any:
        import tantivy

        if question.form == "fuzzy":
            (word,) = question.words
            return tantivy.Query.fuzzy_term_query(self._schema, "t", word, question.edits)
        words = question.words
        text = {
            "any": " ".join(words),
            "all": " ".join(f"+{word}" for word in words),
            "phrase": '"' + " ".join(words) + '"',
            "boolean": " ".join(f"{sign}{word}" for sign, word in zip("+ -", words, strict=False)),
        }
        return self._index.parse_query(text[question.form], ["t"])

    def search(self, query: Any, limit: int) -> Sequence[int]:
        hits = self._searcher.search(query, limit).hits
        return [self._searcher.doc(address)["id"][0] for _, address in hits]


class Bm25s(Engine):
    """The matrix of scores of bm25s, which has no positions."""

    forms = frozenset({"any"})

    def __init__(self, folder: Path, texts: list[str], *, with_position: bool) -> None:
        import bm25s
        import Stemmer

        self._stemmer = Stemmer.Stemmer("english")
        tokens = self._split(texts, return_ids=True)
        self._index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self._index.index(tokens, show_progress=False)

    @property
    def index_bytes(self) -> int:
        parts = (part for part in self._index.scores.values() if hasattr(part, "nbytes"))
        return sum(int(part.nbytes) for part in parts)

    def query(self, question: Question) -> Any:
        return [" ".join(question.words)]

    def search(self, query: Any, limit: int) -> Sequence[int]:
        tokens = self._split(query, return_ids=False)
        rows, _ = self._index.retrieve(tokens, k=limit, show_progress=False, n_threads=0)
        numbers: Sequence[int] = rows[0].tolist()
        return numbers

    def _split(self, texts: list[str], *, return_ids: bool) -> Any:
        import bm25s

        return bm25s.tokenize(
            texts,
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=return_ids,
            show_progress=False,
        )


ENGINES: Mapping[str, type[Engine]] = {"tantivy": Tantivy, "bm25s": Bm25s}
"""By the name of the module."""

NEEDED = {"bm25s": ("Stemmer",)}
"""Further modules that an engine needs here."""


class EngineProcess(SubjectProcess):
    """A process with an engine and all texts."""

    def __init__(self, module: str, path: Path, texts: pa.StringArray) -> None:
        super().__init__(module, path, {})
        self.run(_take_texts, texts)

    def build(self, arguments: Mapping[str, Any]) -> Build | None:
        """Build an index instead of the one that there is; None for one with more than it has."""
        with_position = bool(arguments.get("with_position"))
        if with_position and "phrase" not in ENGINES[self.module].forms:
            return None
        return self.run(_build, self.module, self.path, with_position)

    def timings(self, shape: Shape, questions: Sequence[Question]) -> Timings | None:
        """The times of ``questions``; None if it does not answer them."""
        forms = {question.form for question in questions}
        if shape.filtered or shape.limit is None or not forms <= ENGINES[self.module].forms:
            return None
        return self.run(_timings, list(questions), shape.limit)


@contextmanager
def engine_processes(path: Path, texts: pa.StringArray) -> Iterator[dict[str, EngineProcess]]:
    """A process for each engine that is installed."""
    with ExitStack() as stack:
        processes = {}
        for name in ENGINES:
            if all(map(find_spec, (name, *NEEDED.get(name, ())))):
                processes[name] = EngineProcess(name, path / name, texts)
                stack.callback(processes[name].close)
        yield processes


_texts: list[str] = []
_engines: list[Engine] = []
"""The texts and the engine of this process."""


def _take_texts(texts: pa.StringArray) -> None:
    _texts[:] = texts.to_pylist()


def _build(module: str, path: Path, with_position: bool) -> Build:
    _engines.clear()
    folder = path / str(time.monotonic_ns())

    def build() -> Engine:
        _engines.append(ENGINES[module](folder, _texts, with_position=with_position))
        return _engines[0]

    return measured(build, lambda engine: engine.index_bytes)


def _timings(questions: list[Question], limit: int) -> Timings:
    (engine,) = _engines
    queries = [engine.query(question) for question in questions]
    return timed(queries, lambda query: engine.search(query, limit))[0]
