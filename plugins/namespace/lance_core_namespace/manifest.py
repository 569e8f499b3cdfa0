"""The table ``__manifest`` of a namespace: a row for each table and for each nested namespace.

The columns and the names of objects are those that pylance writes: parts of a name are joined by
"$", and the location of a table is a path below the root.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import CorruptFileError, DatasetExistsError, DatasetNotFoundError
from lance_core.hookspecs.options import Secret
from lance_core_namespace.requests import texts_of
from lance_core_namespace.routes import DELIMITER

TABLE, NAMESPACE = "table", "namespace"
SEPARATOR = DELIMITER

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

    def __init__(self, uri: str, storage_options: Mapping[str, str | Secret]) -> None:
        self._uri = uri
        self._options: Any = dict(storage_options)

    def entry(self, id_: Sequence[str]) -> Entry | None:
        """The entry of this name, None if there is none."""
        return next(iter(self._where(f"object_id = {_quoted(SEPARATOR.join(id_))}")), None)

    def children(self, id_: Sequence[str], *, recursive: bool = False) -> list[Entry]:
        """The tables and namespaces directly in a namespace, or at any depth.

        The root has the name ``()``.
        """
        prefix = "".join(f"{part}{SEPARATOR}" for part in id_)
        last = f"{prefix[:-1]}{chr(ord(SEPARATOR) + 1)}"
        condition = None
        if prefix:
            condition = f"object_id >= {_quoted(prefix)} AND object_id < {_quoted(last)}"
        entries = self._where(condition)
        return [entry for entry in entries if recursive or entry.parent == tuple(id_)]

    def add(self, entry: Entry) -> bool:
        """Add an entry; False, and nothing changes, if its name exists."""
        text = json.dumps(dict(entry.properties)) if entry.properties else None
        name = SEPARATOR.join(entry.id)
        row = {
            "object_id": name,
            "object_type": entry.object_type,
            "location": entry.location,
            "metadata": text,
        }
        dataset = self._opened_or_made()
        rows = pa.Table.from_pylist([row], schema=dataset.schema)  # other columns are null
        merged = dataset.merge_insert("object_id").when_not_matched_insert_all().execute(rows)
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
                _properties(row["metadata"]),
            )
            for row in dataset.to_table(columns, condition).to_pylist()
            if row["object_type"] in {TABLE, NAMESPACE}
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


def _properties(text: str | None) -> dict[str, str] | None:
    try:
        return texts_of(text, "metadata")
    except errors.InvalidInputError as error:
        reason = f"a row of the manifest table of the namespace is damaged: {error}"
        raise CorruptFileError(reason, field="metadata") from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
