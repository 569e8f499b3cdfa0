"""What is done to a random table of vectors and its index, by one of both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from lance_core_vector.plugin import KINDS
from tests.interop.vector_sequences.rows import NUMBERS, WIDTH, Rows, table_of

PARTITIONS = 4
TRAINED_ROWS = 270
"""Rows of a first table: pylance trains no codebook of 8 bits with less than 256."""

PARAMETERS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "IVF_PQ": ({"num_sub_vectors": 4}, {"num_sub_vectors": 4, "num_bits": 4}),
    "IVF_RQ": ({"num_bits": 1}, {"num_bits": 5}, {"num_bits": 8}),
    "IVF_HNSW_PQ": ({"num_sub_vectors": 4},),
}
"""Parameters of kinds that need some, or have several layouts."""


@dataclass(frozen=True)
class Setting:
    """What a sequence begins with. ``builder``: the library that builds the first index."""

    kind: str
    parameters: Mapping[str, Any]
    metric: str
    number: str
    stable: bool
    builder: Any

    @property
    def name(self) -> str:
        """For messages."""
        text = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        ids = "stable ids" if self.stable else "addresses"
        return f"{self.kind} ({text}) {self.metric} {self.number}, {ids}, {self.builder.__name__}"


def settings() -> list[Setting]:
    """All kinds of the plugin with each metric and type of numbers, built by each library."""
    return [
        Setting(kind, parameters, metric, number, stable, builder)
        for kind in KINDS
        for parameters in PARAMETERS.get(kind, ({},))
        for number in NUMBERS
        if number != "uint8" or kind.endswith("FLAT")
        for metric in (("hamming",) if number == "uint8" else ("l2", "cosine", "dot"))
        for builder in (lance_core, lance)
        for stable in (False, True)
    ]


class Change:
    """A table at ``uri``, its model, and what can be done to both."""

    def __init__(self, uri: str, setting: Setting, rows: Rows) -> None:
        self.uri, self.setting, self.rows = uri, setting, rows
        self.random = rows.random
        self.steps: list[str] = []
        self.history: list[dict[int, Any]] = []
        self.indexed_by = {setting.builder.__name__}
        """The libraries that have written segments of the index."""

    def create(self) -> None:
        """A table of several fragments with an index."""
        rows, setting = self.rows, self.setting
        rows.vectors = rows.new(TRAINED_ROWS, special=False)
        for id_ in rows.random.sample(range(TRAINED_ROWS), 8):
            rows.vectors[id_] = rows.vector()
        self.random.choice([lance, lance_core]).write_dataset(
            rows.table(rows.vectors),
            self.uri,
            max_rows_per_file=rows.random.choice([60, 100, 300]),
            enable_stable_row_ids=setting.stable,
            data_storage_version=rows.random.choice(["2.0", "2.1", "2.2"]),
        )
        self._index(setting.builder)

    def _index(self, library: Any) -> None:
        setting = self.setting
        more: dict[str, Any] = {"num_partitions": 1 if "HNSW" in setting.kind else PARTITIONS}
        if "HNSW" not in setting.kind and setting.number in ("float32",) and library is lance:
            draw = np.random.default_rng(self.random.getrandbits(32))
            centroids = draw.normal(size=(PARTITIONS, WIDTH)).astype(NUMBERS[setting.number])
            if setting.metric in ("cosine", "dot"):
                centroids /= np.linalg.norm(centroids, axis=1)[:, None]
            more["ivf_centroids"] = centroids
        library.dataset(self.uri).create_index(
            "v", setting.kind, metric=setting.metric, replace=True, **setting.parameters, **more
        )
        self.indexed_by = {library.__name__}

    def some_ids(self, most: int = 40) -> list[int]:
        """Some of the rows, neighbours or not."""
        ids = sorted(self.rows.vectors)
        count = min(len(ids), self.random.randrange(1, most))
        if self.random.random() < 0.5:
            start = self.random.randrange(len(ids) - count + 1)
            return ids[start : start + count]
        return self.random.sample(ids, count)

    def delete(self, library: Any) -> None:
        """Remove some rows."""
        gone = self.some_ids(90)
        if len(gone) > len(self.rows.vectors) - 30:
            return
        library.dataset(self.uri).delete(f"id IN ({', '.join(map(str, gone))})")
        for id_ in gone:
            del self.rows.vectors[id_]

    def update(self, library: Any) -> None:
        """Move some rows; their vectors stay."""
        changed = ", ".join(map(str, self.some_ids()))
        library.dataset(self.uri).update({"n": "n + 1"}, where=f"id IN ({changed})")

    def merge(self, library: Any) -> None:
        """Give some rows other vectors, and add some."""
        changed = {id_: self.rows.vector() for id_ in self.some_ids(25)}
        source = changed | self.rows.new(self.random.randrange(12))
        merge = library.dataset(self.uri).merge_insert("id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(
            table_of(source, self.setting.number)
        )
        self.rows.vectors |= source

    def change_vectors(self, library: Any) -> None:
        """Give some rows other vectors, and leave the other columns out."""
        changed = {id_: self.rows.vector() for id_ in self.some_ids(25)}
        source = table_of(changed, self.setting.number).select(["id", "v"])
        library.dataset(self.uri).merge_insert("id").when_matched_update_all().execute(source)
        self.rows.vectors |= changed

    def change_numbers(self, library: Any) -> None:
        """Change another column of some rows, and leave the vectors out."""
        ids = self.some_ids(25)
        source = pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array(ids, pa.int64())})
        library.dataset(self.uri).merge_insert("id").when_matched_update_all().execute(source)

    def append(self, library: Any) -> None:
        """Add rows that no index covers."""
        added = self.rows.new(self.random.randrange(1, 60))
        library.write_dataset(table_of(added, self.setting.number), self.uri, mode="append")
        self.rows.vectors |= added

    def compact(self, library: Any) -> None:
        """Merge small fragments; indices move with the rows."""
        if library is lance and self._has_reuse_index:
            library = lance_core  # pylance 14 would lose the rows of the index
            self.steps[-1] = "compact by lance_core, instead of pylance"
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

    def restore(self, library: Any) -> None:
        """Go back to the rows and indices of the last version but one."""
        if len(self.history) < 2:
            return
        version, vectors = self.random.choice(self.history)
        library.dataset(self.uri, version=version).restore()
        self.rows.vectors = dict(vectors)
        self.indexed_by.add("restored")

    def step(self) -> None:
        """One change by one of the libraries."""
        name = self.random.choice(CHANGES)
        library = self.random.choice([lance, lance_core])
        self.steps.append(f"{name} by {library.__name__}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(self, name)(library)
        self.history.append((lance_core.dataset(self.uri).version, dict(self.rows.vectors)))


CHANGES = (
    *("delete", "update", "merge", "merge", "change_vectors", "change_numbers", "append", "append"),
    *("compact", "compact", "compact_and_defer", "optimize", "optimize", "optimize"),
    *("retrain", "index_again", "clean_up", "restore"),
)
"""The names of changes; those that are more likely several times."""
