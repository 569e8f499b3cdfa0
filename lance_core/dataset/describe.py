"""What `repr` shows of a dataset. Nothing is read: all of it is in the manifest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from lance_core.schema import Field

MAX_COLUMNS = 60
"""Maximum number of fields that are shown, including nested ones."""

MAX_FRAGMENTS = 1000
"""Maximum number of fragments whose files are added up; to decode more takes too long."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


class ColumnText(NamedTuple):
    """A field as it is shown; ``depth`` counts the fields around it."""

    depth: int
    id: int
    name: str
    type: str


def text(snapshot: Snapshot, name: str) -> str:
    """Several lines about the version: where it is, how large it is, its columns."""
    facts = ", ".join(f"{key} {value}" for key, value in _facts(snapshot))
    columns = list(_columns(snapshot))
    lines = [f"{'  ' * c.depth}{c.name}: {c.type} (id {c.id})" for c in columns[:MAX_COLUMNS]]
    if len(columns) > MAX_COLUMNS:
        lines.append(f"… and {len(columns) - MAX_COLUMNS} more")
    return "\n  ".join([f"{name}({snapshot.root.redacted_uri!r})", facts, *lines])


def html(dataset: DatasetBase) -> str | None:
    """What the plugin that provides ``notebook_html`` shows; None without one."""
    try:
        show: Any = get_manager().tool("notebook_html")
    except LanceError:
        return None
    made: str = show(dataset)
    return made


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    manifest = snapshot.manifest
    yield "version", str(snapshot.version)
    # A damaged manifest must not make `repr` fail.
    with contextlib.suppress(LanceError):
        if manifest.num_rows is not None:
            yield "rows", f"{manifest.num_rows:,}"
    yield "fragments", f"{len(manifest.fragments):,}"
    with contextlib.suppress(LanceError):
        if len(manifest.fragments) <= MAX_FRAGMENTS:
            yield "size", _size(snapshot)
    with contextlib.suppress(LanceError):
        yield "file version", snapshot.storage_version.value


def _size(snapshot: Snapshot) -> str:
    files = [file for fragment in snapshot.manifest.fragments for file in fragment.files]
    size = float(sum(file.file_size_bytes or 0 for file in files))
    unit = 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    shown = f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"
    return shown if all(file.file_size_bytes for file in files) else f"at least {shown}"


def _columns(snapshot: Snapshot) -> Iterator[ColumnText]:
    waiting = [(0, field) for field in reversed(snapshot.schema.fields)]
    while waiting:
        depth, field = waiting.pop()
        yield ColumnText(depth, field.id, field.name, _type(field))
        waiting.extend((depth + 1, child) for child in reversed(field.children))


def _type(field: Field) -> str:
    type_name = field.extension_name or field.logical_type
    return type_name if field.nullable else f"{type_name} not null"
