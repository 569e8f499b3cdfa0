"""The rows of a random table of texts, and what is known of their terms."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lance_core_text.analyzers.columns import analyze_column
from lance_core_text.analyzers.filters import stop_words
from lance_core_text.analyzers.parameters import TextParameters
from tests.interop.text_sequences.words import LANGUAGES, SPECIAL

Text = str | list[str | None] | None
"""The value of a row: a text, or texts of a list."""

Positions = Mapping[str, frozenset[int]]
"""The positions of each term of a row."""

KINDS: dict[str, pa.DataType] = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "list": pa.list_(pa.string()),
}
"""The types of columns by their names."""


@dataclass
class Rows:
    """The text of each row of the table by its ``id``."""

    kind: str
    language: str
    random: random.Random
    texts: dict[int, Text] = field(default_factory=dict)
    next_id: int = 0

    def __post_init__(self) -> None:
        own = LANGUAGES[self.language].split()
        stops = sorted(stop_words(self.language))
        self.words = [*own, *own, *self.random.sample(stops, min(4, len(stops)))]
        self.words += [f"w{number}" for number in range(30)]
        self.words += self.random.sample(SPECIAL, 8)
        self.random.shuffle(self.words)
        self._shares = [1 / (place + 1) for place in range(len(self.words))]

    def new(self, count: int) -> dict[int, Text]:
        """``count`` rows that the table does not have."""
        ids = range(self.next_id, self.next_id + count)
        self.next_id += count
        return {id_: self.text() for id_ in ids}

    def text(self) -> Text:
        """A text of words of which few are frequent; some are empty, null or very long."""
        if self.kind != "list":
            return self._one_text()
        if self.random.random() < 0.05:
            return self.random.choice([None, []])
        return [self._one_text() for _ in range(self.random.choice([1, 1, 2, 3]))]

    def _one_text(self) -> str | None:
        draw = self.random.random()
        if draw < 0.05:
            return self.random.choice([None, "", " .,;", "\n"])
        length = self.random.randrange(1, 14)
        if draw > 0.993:
            length = self.random.choice([130, 400, 1500])
        if draw > 0.97:  # mostly one word
            return " ".join([self.word()] * length + [self.word()])
        separator = self.random.choice([" ", " ", " ", ", ", "\t", " - "])
        return separator.join(self.words_of(length))

    def word(self) -> str:
        return self.words_of(1)[0]

    def words_of(self, count: int) -> list[str]:
        """Words that may be repeated."""
        return self.random.choices(self.words, self._shares, k=count)

    def table(self, texts: Mapping[int, Text]) -> pa.Table:
        """Rows as data of the table."""
        ids = pa.array(list(texts), pa.int64())
        column = pa.array(list(texts.values()), KINDS[self.kind])
        return pa.table({"id": ids, "t": column, "n": pa.array([0] * len(ids), pa.int64())})

    def positions(self, ids: Iterable[int], parameters: TextParameters) -> dict[int, Positions]:
        """The positions of the terms of each row that has any."""
        every = list(ids)
        values = pa.array([self.texts[id_] for id_ in every], KINDS[self.kind])
        found = analyze_column(values, parameters)
        terms = found.terms.to_pylist()
        rows: dict[int, dict[str, set[int]]] = {}
        parts = np.stack([found.texts, found.codes, found.positions])
        for text, code, position in parts.T.tolist():
            own = rows.setdefault(every[text], {})
            own.setdefault(terms[code], set()).add(position)
        return {
            id_: {term: frozenset(places) for term, places in own.items()}
            for id_, own in rows.items()
        }
