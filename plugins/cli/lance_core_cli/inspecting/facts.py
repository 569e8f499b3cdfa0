"""The facts about a version of a table that all ways to inspect it show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from lance_core import LanceDataset
from lance_core.errors import LanceError
from lance_core_cli.inspecting.advice import Advice, advice
from lance_core_cli.inspecting.columns import ColumnFacts, ColumnSample, sampled_columns
from lance_core_cli.inspecting.fragments import FragmentFacts
from lance_core_cli.inspecting.history import VersionFacts, newest_versions


@dataclass(frozen=True)
class IndexFacts:
    """An index: ``rows`` are those that it covers, of ``of_rows``; ``bytes`` None if unknown."""

    name: str
    type: str
    columns: list[str]
    rows: int
    of_rows: int
    segments: int
    bytes: int | None
    built_from_version: int

    @property
    def coverage(self) -> float:
        """The share of the rows that it covers, from 0 to 1."""
        return self.rows / self.of_rows if self.of_rows else 1.0


@dataclass(frozen=True)
class TableFacts:
    """A version of a table.

    ``versions``: the newest ones, oldest first; ``older_versions`` counts the others. ``problems``:
    what could not be read, and why. Bytes are those that the manifest records of data files.
    """

    uri: str
    version: int
    time: datetime | None
    file_version: str
    rows: int
    deleted_rows: int
    bytes: int
    stable_row_ids: bool
    fragments: FragmentFacts
    columns: list[ColumnFacts]
    sample: ColumnSample
    indices: list[IndexFacts]
    versions: list[VersionFacts]
    older_versions: int
    tags: Mapping[str, int]
    config: Mapping[str, str]
    advice: list[Advice] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def asdict(self) -> dict[str, Any]:
        """The facts as values of JSON; of the fragments, what they come to."""
        shown = {
            name: value
            for name, value in vars(self).items()
            if name not in {"fragments", "time", "columns", "indices", "versions", "advice"}
        }
        return {
            **shown,
            "time": None if self.time is None else self.time.isoformat(),
            "tags": dict(self.tags),
            "config": dict(self.config),
            "sample": asdict(self.sample),
            "fragments": self.fragments.summary(),
            "columns": [asdict(column) for column in self.columns],
            "indices": [{**asdict(i), "coverage": round(i.coverage, 4)} for i in self.indices],
            "versions": [version.asdict() for version in self.versions],
            "advice": [asdict(item) for item in self.advice],
        }


def inspect(table: LanceDataset) -> TableFacts:
    """The facts about the open version of ``table``.

    The time that it takes hardly depends on the number of fragments: their counts are in the
    manifest, and a sample of data files stands for all. A file that cannot be read is a problem of
    the result, not an error. Raises `CorruptFileError` for a damaged manifest.
    """
    problems: list[str] = []
    versions, older = newest_versions(table, problems)
    fragments = FragmentFacts.of(table, versions)
    columns, sample = sampled_columns(table, problems)
    facts = TableFacts(
        uri=table.snapshot.root.redacted_uri,
        version=table.version,
        time=table.snapshot.manifest.timestamp,
        file_version=table.data_storage_version,
        rows=int(fragments.live_rows.sum()),
        deleted_rows=int(fragments.deleted.sum()),
        bytes=int(fragments.bytes.sum()),
        stable_row_ids=table.has_stable_row_ids,
        fragments=fragments,
        columns=columns,
        sample=sample,
        indices=_indices(table, problems),
        versions=versions,
        older_versions=older,
        tags=_tags(table, problems),
        config=table.config(),
        problems=problems,
    )
    facts.advice.extend(advice(table, facts))
    return facts


def _indices(table: LanceDataset, problems: list[str]) -> list[IndexFacts]:
    try:
        described = table.describe_indices()
        rows = table.count_rows()
    except LanceError as error:
        problems.append(f"indices: {error}")
        return []
    return [
        IndexFacts(
            index.name,
            index.index_type,
            list(index.field_names),
            index.num_rows_indexed,
            rows,
            len(index.segments),
            index.total_size_bytes,
            max((s.dataset_version_at_last_update for s in index.segments), default=0),
        )
        for index in described
    ]


def _tags(table: LanceDataset, problems: list[str]) -> dict[str, int]:
    try:
        return {name: int(tag["version"]) for name, tag in table.tags.list().items()}
    except LanceError as error:
        problems.append(f"tags: {error}")
        return {}
