"""What a compaction hands from one process to another: plans, tasks and results.

All of it can be pickled and has a JSON form with pylance's keys. Besides these, a process that
executes a task needs the URI of the table and its storage options.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

from lance_core.errors import InvalidInputError
from lance_core.maintenance import (
    Fragment,
    FragmentMetadata,
    FragmentWriteProgress,
    HasSnapshot,
    Snapshot,
    Target,
    hide_secrets,
    open_table,
)
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.options import (
    CompactionSettings,
    settings_from_json,
    settings_to_json,
)
from lance_core_compaction.reuse import row_addresses
from lance_core_compaction.rewrite import Advance, rewrite

T = TypeVar("T")


@dataclass
class RewriteResult:
    """The result of a task: new fragments that `Compaction.commit` puts in place of others.

    ``row_addrs``: the addresses of the rows in ``original_fragments``, if a fragment-reuse index is
    going to contain them.
    """

    read_version: int
    new_fragments: list[FragmentMetadata]
    original_fragments: list[FragmentMetadata]
    metrics: CompactionMetrics = field(default_factory=CompactionMetrics)
    row_addrs: bytes | None = None

    @property
    def old_fragments(self) -> list[FragmentMetadata]:
        """Another name of ``original_fragments``."""
        return self.original_fragments

    def __repr__(self) -> str:
        return (
            f"RewriteResult(read_version={self.read_version}, new_fragments={self.new_fragments}, "
            f"old_fragments={self.original_fragments})"
        )

    def json(self) -> str:
        """The result as JSON text, for `from_json`."""
        addresses = None if self.row_addrs is None else list(self.row_addrs)
        return json.dumps(
            {
                "metrics": dict(vars(self.metrics)),
                "new_fragments": _to_trees(self.new_fragments),
                "read_version": self.read_version,
                "original_fragments": _to_trees(self.original_fragments),
                "row_addrs": addresses,
            }
        )

    @staticmethod
    def from_json(json: str) -> RewriteResult:
        """The result from its JSON text; raises `InvalidInputError` for other text."""
        return _loaded("RewriteResult", json, _result)


def _result(tree: Mapping[str, Any]) -> RewriteResult:
    addresses = tree.get("row_addrs")
    known = {metric.name for metric in fields(CompactionMetrics)}
    return RewriteResult(
        int(tree["read_version"]),
        _from_trees(tree["new_fragments"]),
        _from_trees(tree["original_fragments"]),
        CompactionMetrics(**{k: int(v) for k, v in tree["metrics"].items() if k in known}),
        None if addresses is None else bytes(addresses),
    )


@dataclass
class CompactionTask:
    """Fragments to rewrite, which any process can do; `Compaction.commit` takes the results."""

    read_version: int
    fragments: list[FragmentMetadata]
    settings: CompactionSettings = field(repr=False)

    @classmethod
    def planned(
        cls, snapshot: Snapshot, ids: Sequence[int], settings: CompactionSettings
    ) -> CompactionTask:
        """The task for fragments of ``snapshot``, which are decoded when they are asked for."""
        task = cls.__new__(cls)
        vars(task).update(
            read_version=snapshot.version, settings=settings, _planned=(snapshot, ids)
        )
        return task

    def __getattr__(self, name: str) -> list[FragmentMetadata]:
        if name != "fragments" or "_planned" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        snapshot, ids = vars(self)["_planned"]
        self.fragments = [metadata_of(snapshot, fragment) for fragment in snapshot.fragments(ids)]
        return self.fragments

    def __reduce__(self) -> tuple[type[CompactionTask], tuple[object, ...]]:
        return type(self), (self.read_version, self.fragments, self.settings)

    def execute(
        self,
        dataset: Target,
        *,
        progress: FragmentWriteProgress | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> RewriteResult:
        """Write the new fragments, without committing them.

        ``dataset``: the table, open or as a URI; its version ``read_version`` is read.
        ``progress``: called at the begin and the end of each new fragment.

        Raises `InvalidInputError` if the table does not have these fragments, `CompactionError` if
        pages must be copied but cannot be, `CorruptFileError` for corrupt files, and the errors of
        the store. Then all new files are removed.
        """
        storage_options = hide_secrets(storage_options)
        snapshot = _snapshot_of(dataset, self.read_version, storage_options)
        for fragment in self.fragments:
            _check(snapshot, fragment)
        return self.execute_on(snapshot, progress)

    def execute_on(
        self,
        snapshot: Snapshot,
        progress: FragmentWriteProgress | None = None,
        advance: Advance = lambda _: None,
    ) -> RewriteResult:
        """`execute` for the open version that was planned for.

        ``advance`` is called with numbers of written rows.
        """
        old = snapshot.fragments([fragment.id for fragment in self.fragments])
        made = rewrite(snapshot, old, self.settings, progress, advance)
        files = [file for fragment in made.fragments for file in fragment.files]
        removed = sum(
            len(fragment.files) + (fragment.deletion_file is not None) for fragment in old
        )
        size = sum(file.file_size_bytes or 0 for file in files)
        metrics = made.counts + CompactionMetrics(
            len(old), len(made.fragments), removed, len(files), bytes_written=size
        )
        addresses = row_addresses(snapshot, old) if self.settings.defer_index_remap else None
        new = [
            FragmentMetadata.of(fragment, fragment.physical_rows or 0)
            for fragment in made.fragments
        ]
        return RewriteResult(self.read_version, new, list(self.fragments), metrics, addresses)

    def json(self) -> str:
        """The task as JSON text, for `from_json`."""
        tree = {
            "task": {"fragments": _to_trees(self.fragments)},
            "read_version": self.read_version,
            "options": settings_to_json(self.settings),
        }
        return json.dumps(tree)

    @staticmethod
    def from_json(json: str) -> CompactionTask:
        """The task from its JSON text; raises `InvalidInputError` for other text."""
        return _loaded("CompactionTask", json, _task)


def _task(tree: Mapping[str, Any]) -> CompactionTask:
    fragments = _from_trees(tree["task"]["fragments"])
    return CompactionTask(int(tree["read_version"]), fragments, settings_from_json(tree["options"]))


@dataclass
class CompactionPlan:
    """The tasks of a compaction of version ``read_version``, which can run in any order."""

    read_version: int
    tasks: list[CompactionTask]
    settings: CompactionSettings

    def num_tasks(self) -> int:
        """The number of tasks."""
        return len(self.tasks)

    def __repr__(self) -> str:
        count = len(self.tasks)
        return f"CompactionPlan(read_version={self.read_version}, tasks=<{count} compaction tasks>)"

    def json(self) -> str:
        """The plan as JSON text, for `from_json`."""
        tree = {
            "tasks": [{"fragments": _to_trees(task.fragments)} for task in self.tasks],
            "read_version": self.read_version,
            "options": settings_to_json(self.settings),
        }
        return json.dumps(tree)

    @staticmethod
    def from_json(json: str) -> CompactionPlan:
        """The plan from its JSON text; raises `InvalidInputError` for other text."""
        return _loaded("CompactionPlan", json, _plan)

    @classmethod
    def of(
        cls, snapshot: Snapshot, tasks: Sequence[Sequence[int]], settings: CompactionSettings
    ) -> Self:
        """The plan that rewrites the fragments of each of ``tasks``, which are named by ids."""
        made = [CompactionTask.planned(snapshot, ids, settings) for ids in tasks]
        return cls(snapshot.version, made, settings)


def _plan(tree: Mapping[str, Any]) -> CompactionPlan:
    settings, version = settings_from_json(tree["options"]), int(tree["read_version"])
    tasks = [
        CompactionTask(version, _from_trees(task["fragments"]), settings) for task in tree["tasks"]
    ]
    return CompactionPlan(version, tasks, settings)


def metadata_of(snapshot: Snapshot, fragment: Fragment) -> FragmentMetadata:
    """The public value for a fragment of ``snapshot``."""
    return FragmentMetadata.of(fragment, snapshot.physical_rows(fragment))


def _check(snapshot: Snapshot, expected: FragmentMetadata) -> None:
    """Raise `InvalidInputError` unless ``snapshot`` has the fragment of a task."""
    fragment = snapshot.manifest.fragments.by_id(expected.id)
    if fragment is None or expected != metadata_of(snapshot, fragment):
        raise InvalidInputError(
            f"version {snapshot.version} of {snapshot.root.redacted_uri} does not have "
            f"fragment {expected.id} of this compaction task: it is of another table"
        )


def _snapshot_of(
    dataset: Target, version: int, storage_options: Mapping[str, Any] | None
) -> Snapshot:
    if isinstance(dataset, HasSnapshot) and dataset.snapshot.version == version:
        return dataset.snapshot
    return open_table.open_version(open_table.root_of(dataset, storage_options), version)


def _loaded(type_name: str, text: str, build: Callable[[Any], T]) -> T:
    try:
        return build(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInputError(f"Could not load {type_name} due to error: {error!r}") from error


def _to_trees(fragments: Sequence[FragmentMetadata]) -> list[dict[str, Any]]:
    return [fragment.to_json() for fragment in fragments]


def _from_trees(trees: Sequence[Mapping[str, Any]]) -> list[FragmentMetadata]:
    return [FragmentMetadata.from_json(json.dumps(tree)) for tree in trees]
