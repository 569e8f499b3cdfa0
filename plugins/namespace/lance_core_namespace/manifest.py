"""The table ``__manifest`` of a namespace: a row for each table and for each nested namespace.

The columns and the names of objects are those that pylance writes: parts of a name are joined by
"$", and the location of a table is a path below the root.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

import lance_core as lance
from lance_core.errors import DatasetExistsError, DatasetNotFoundError

TABLE, NAMESPACE = "table", "namespace"
SEPARATOR = "$"

_KEY = {"lance-schema:unenforced-primary-key:position": "0"}
_SCHEMA = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata=_KEY),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
    ]
)


@dataclass(frozen=True)
class Entry:
    """A table, with its location below the root, or a namespace, with its properties."""

    id: tuple[str, ...]
    object_type: str
    location: str | None = None
    properties: Mapping[str, str] | None = None

    @property
    def parent(self) -> tuple[str, ...]:
        """The name of the namespace that has it."""
        return self.id[:-1]


class Manifest:
    """Reads and changes the entries of a namespace; each call sees what others have changed.

    Two callers never add the same name: the column of names is the key of the table.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str]) -> None:
        self._uri = uri
        self._options = dict(storage_options)

    def entry(self, id_: Sequence[str]) -> Entry | None:
        """The entry of this name, None if there is none."""
        return next(iter(self._where(f"object_id = {_quoted(SEPARATOR.join(id_))}")), None)

    def children(self, id_: Sequence[str]) -> list[Entry]:
        """The tables and namespaces directly in a namespace; the root has the name ``()``."""
        prefix = "".join(f"{part}{SEPARATOR}" for part in id_)
        condition = f"starts_with(object_id, {_quoted(prefix)})" if prefix else None
        return [entry for entry in self._where(condition) if entry.parent == tuple(id_)]

    def add(self, entry: Entry) -> bool:
        """Add an entry; False, and nothing changes, if its name exists."""
        text = json.dumps(dict(entry.properties)) if entry.properties else None
        name = SEPARATOR.join(entry.id)
        row = pa.table(
            [[name], [entry.object_type], [entry.location], [text], [None]], schema=_SCHEMA
        )
        merged = (
            self._opened_or_made()
            .merge_insert("object_id")
            .when_not_matched_insert_all()
            .execute(row)
        )
        return bool(merged["num_inserted_rows"])

    def remove(self, id_: Sequence[str]) -> None:
        """Remove the entry of this name, if there is one."""
        dataset = self._opened()
        if dataset is not None:
            dataset.delete(f"object_id = {_quoted(SEPARATOR.join(id_))}")

    def _where(self, condition: str | None) -> list[Entry]:
        dataset = self._opened()
        if dataset is None:
            return []
        columns = ["object_id", "object_type", "location", "metadata"]
        return [
            Entry(
                tuple(row["object_id"].split(SEPARATOR)),
                row["object_type"],
                row["location"],
                json.loads(row["metadata"]) if row["metadata"] else None,
            )
            for row in dataset.to_table(columns, condition).to_pylist()
        ]

    def _opened(self) -> lance.LanceDataset | None:
        try:
            return lance.dataset(self._uri, storage_options=self._options)
        except DatasetNotFoundError:
            return None

    def _opened_or_made(self) -> lance.LanceDataset:
        dataset = self._opened()
        if dataset is not None:
            return dataset
        try:
            return lance.write_dataset(
                _SCHEMA.empty_table(), self._uri, storage_options=self._options
            )
        except DatasetExistsError:  # another process was faster
            return lance.dataset(self._uri, storage_options=self._options)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
