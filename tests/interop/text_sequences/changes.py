"""What is done to a random table of texts and its index, by one of both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import lance
import pyarrow as pa

import lance_core
from lance_core.errors import UnsupportedFeatureError
from lance_core_text.analyzers.parameters import LANGUAGES, TextParameters
from tests.interop.text_sequences.questions import COLUMN
from tests.interop.text_sequences.rows import KINDS, Rows, Text

FIRST_ROWS = 330
"""Rows of a first table: frequent words have several blocks."""

PLAIN = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}
PARAMETERS: tuple[Mapping[str, Any], ...] = (
    *({"language": language} for language in sorted(LANGUAGES)),
    *({"stem": False}, PLAIN, {"custom_stop_words": ["w1", "w3"]}, {"max_token_length": None}),
    *({"base_tokenizer": "whitespace"}, {"base_tokenizer": "raw", "stem": False}),
    *({"base_tokenizer": "ngram", "min_ngram_length": 2}, {"base_tokenizer": "ngram"}),
    {"base_tokenizer": "code"},
    {"base_tokenizer": "code", "split_identifiers": True, "index_operators": True},
)
"""Parameters of terms."""

FORMATS: tuple[Mapping[str, Any], ...] = (
    *({}, {}, {"format_version": 1}, {"format_version": 3, "block_size": 256}),
)


@dataclass(frozen=True)
class Setting:
    """What a sequence begins with. ``builder``: the library that builds the first index."""

    parameters: Mapping[str, Any]
    layout: Mapping[str, Any]
    kind: str
    stable: bool
    builder: Any

    @property
    def name(self) -> str:
        """For messages."""
        given = {**self.parameters, **self.layout}
        text = ", ".join(f"{key}={value}" for key, value in given.items())
        ids = "stable ids" if self.stable else "addresses"
        return f"({text}) {self.kind}, {ids}, {self.builder.__name__}"

    @property
    def has_positions(self) -> bool:
        return bool(self.layout.get("with_position"))

    @property
    def texts(self) -> TextParameters:
        """The parameters of the terms."""
        return TextParameters.of(self.parameters)


def settings() -> list[Setting]:
    """All parameters with each layout and type of column, built by each library."""
    return [
        Setting(parameters, {**layout, "with_position": positions}, kind, stable, builder)
        for parameters in PARAMETERS
        for layout in FORMATS
        for kind in KINDS
        for positions in (True, False)
        for builder in (lance_core, lance)
        for stable in (False, True)
        if not _is_refused(parameters, layout, kind)
    ]


def _is_refused(parameters: Mapping[str, Any], layout: Mapping[str, Any], kind: str) -> bool:
    """True for what pylance refuses, and for `raw` lists, of which it counts empty ones, too."""
    base = parameters.get("base_tokenizer")
    return (base == "code" and layout.get("format_version") == 1) or (base, kind) == ("raw", "list")


class Change:
    """A table at ``uri``, its model, and what can be done to both."""

    def __init__(self, uri: str, setting: Setting, rows: Rows) -> None:
        self.uri, self.setting, self.rows = uri, setting, rows
        self.random = rows.random
        self.steps: list[str] = []
        self.history: list[dict[int, Text]] = []
        self.versions: list[int] = []
        self.indexed_by = {setting.builder.__name__}
        """The libraries that have written segments of the index."""

    def create(self) -> None:
        """A table of several fragments with an index."""
        rows = self.rows
        rows.texts = rows.new(FIRST_ROWS)
        self.random.choice([lance, lance_core]).write_dataset(
            rows.table(rows.texts),
            self.uri,
            max_rows_per_file=self.random.choice([70, 150, 1000]),
            enable_stable_row_ids=self.setting.stable,
            data_storage_version=self.random.choice(["2.0", "2.1", "2.2"]),
        )
        self._index(self.setting.builder)

    def _index(self, library: Any) -> None:
        given = {**self.setting.parameters, **self.setting.layout}
        dataset = library.dataset(self.uri)
        try:
            dataset.create_scalar_index(COLUMN, "INVERTED", replace=True, **given)
        except UnsupportedFeatureError:  # the format of the layout
            given = {**self.setting.parameters, "with_position": self.setting.has_positions}
            dataset.create_scalar_index(COLUMN, "INVERTED", replace=True, **given)
        self.indexed_by = {library.__name__}

    def some_ids(self, most: int = 40) -> list[int]:
        """Some of the rows, neighbours or not."""
        ids = sorted(self.rows.texts)
        count = min(len(ids), self.random.randrange(1, most))
        if self.random.random() < 0.5:
            start = self.random.randrange(len(ids) - count + 1)
            return ids[start : start + count]
        return self.random.sample(ids, count)

    def delete(self, library: Any) -> None:
        """Remove some rows."""
        gone = self.some_ids(90)
        if len(gone) > len(self.rows.texts) - 30:
            return
        library.dataset(self.uri).delete(f"id IN ({', '.join(map(str, gone))})")
        for id_ in gone:
            del self.rows.texts[id_]

    def update(self, library: Any) -> None:
        """Move some rows; their texts stay."""
        changed = ", ".join(map(str, self.some_ids()))
        library.dataset(self.uri).update({"n": "n + 1"}, where=f"id IN ({changed})")

    def merge(self, library: Any) -> None:
        """Give some rows other texts, and add some."""
        source = {id_: self.rows.text() for id_ in self.some_ids(25)}
        source |= self.rows.new(self.random.randrange(12))
        merge = library.dataset(self.uri).merge_insert("id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(
            self.rows.table(source)
        )
        self.rows.texts |= source

    def change_texts(self, library: Any) -> None:
        """Give some rows other texts, and leave the other columns out."""
        source = {id_: self.rows.text() for id_ in self.some_ids(25)}
        table = self.rows.table(source).select(["id", COLUMN])
        library.dataset(self.uri).merge_insert("id").when_matched_update_all().execute(table)
        self.rows.texts |= source

    def change_numbers(self, library: Any) -> None:
        """Change another column of some rows, and leave the texts out."""
        ids = self.some_ids(25)
        source = pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array(ids, pa.int64())})
        library.dataset(self.uri).merge_insert("id").when_matched_update_all().execute(source)

    def append(self, library: Any) -> None:
        """Add rows that no index covers."""
        added = self.rows.new(self.random.randrange(1, 60))
        library.write_dataset(self.rows.table(added), self.uri, mode="append")
        self.rows.texts |= added

    def compact(self, library: Any) -> None:
        """Merge small fragments; indices move with the rows."""
        if library is lance and self._has_reuse_index:
            library = lance_core  # pylance 14 would lose the rows of the index
        library.dataset(self.uri).optimize.compact_files(
            target_rows_per_fragment=self.random.choice([80, 150, 10_000]),
            compaction_mode=self.random.choice(["reencode", "try_binary_copy"]),
        )

    @property
    def _has_reuse_index(self) -> bool:
        indices = lance.dataset(self.uri).list_indices()
        return any(index["name"] == "__lance_frag_reuse" for index in indices)

    def compact_and_defer(self, library: Any) -> None:
        """Merge small fragments; a reuse index says where the rows of indices are."""
        options = {} if self.setting.stable else {"defer_index_remap": True}
        library.dataset(self.uri).optimize.compact_files(
            target_rows_per_fragment=self.random.choice([80, 150, 10_000]), **options
        )

    def optimize(self, library: Any) -> None:
        """Add the new rows to the index."""
        count = self.random.choice([None, None, 0, 0, 1, 5])
        options = {} if count is None else {"num_indices_to_merge": count}
        library.dataset(self.uri).optimize.optimize_indices(**options)
        self.indexed_by.add(library.__name__)

    def retrain(self, library: Any) -> None:
        """Build the index again with the parameters that it has."""
        library.dataset(self.uri).optimize.optimize_indices(retrain=True)
        self.indexed_by.add(library.__name__)

    def index_again(self, library: Any) -> None:
        """Replace the index."""
        self._index(library)

    def clean_up(self, library: Any) -> None:
        """Remove all other versions."""
        library.dataset(self.uri).cleanup_old_versions(timedelta(0), delete_unverified=True)
        self.history.clear()
        self.versions.clear()

    def restore(self, library: Any) -> None:
        """Go back to the rows and indices of an earlier version."""
        if len(self.history) < 2:
            return
        number = self.random.randrange(len(self.history))
        library.dataset(self.uri, version=self.versions[number]).restore()
        self.rows.texts = dict(self.history[number])
        self.indexed_by.add("restored")

    def step(self, name: str, library: Any) -> None:
        """One change by one of the libraries."""
        self.steps.append(f"{name} by {library.__name__}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(self, name)(library)
        self.history.append(dict(self.rows.texts))
        self.versions.append(lance_core.dataset(self.uri).version)


CHANGES = (
    *("delete", "update", "merge", "merge", "change_texts", "change_numbers", "append", "append"),
    *("compact", "compact", "compact_and_defer", "optimize", "optimize", "optimize"),
    *("retrain", "index_again", "clean_up", "restore"),
)
"""The names of changes; those that are more likely several times."""
