"""The steps of a merge as text, without and with what they took."""

from __future__ import annotations

import time

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.dataset.write.merge_insert.join import Join
from lance_core.dataset.write.merge_insert.merge import write_merge
from lance_core.dataset.write.merge_insert.plan import MergePlan
from lance_core.schema import Schema


def outline(snapshot: Snapshot, plan: MergePlan, schemas: tuple[Schema, Schema]) -> str:
    """The steps of a merge; ``schemas``: the fields that the source has, and the missing ones."""
    return _text(_Lines(snapshot, plan, schemas), "", "", "")


def analysis(join: Join, files: NewFiles) -> str:
    """Run a merge, which writes ``files``, and return its steps with what they took."""
    started = time.perf_counter()
    work = write_merge(join, files)
    elapsed = 1000 * (time.perf_counter() - started)
    sizes = [file.file_size_bytes or 0 for fragment in files.data for file in fragment.files]
    counts = ", ".join(f"{name}={count}" for name, count in sorted(work.result.items()))
    source = join.source
    rows = sum(source.part(number).num_rows for number in range(source.num_parts))
    lines = _Lines(join.snapshot, join.plan, (source.schema, source.missing))
    searched = ", ".join(join.searched_indices)
    return _text(
        lines,
        f"elapsed={elapsed:.3f}ms, ",
        f", metrics=[bytes_written={sum(sizes)}, num_files_written={len(sizes)}, {counts}]",
        f", metrics=[output_rows={rows}, partitions={source.num_parts}]",
        f", indices=[{searched}]"
        if searched
        else f", metrics=[rows_scanned={join.snapshot.num_rows}, "
        f"fragments_scanned={len(join.snapshot.manifest.fragments)}]",
    )


class _Lines:
    """The parts of a plan's text."""

    def __init__(self, snapshot: Snapshot, plan: MergePlan, schemas: tuple[Schema, Schema]) -> None:
        self.merge = plan.describe()
        keys = ", ".join(plan.on)
        join = "Left" if plan.deletes_unmatched else "Right"
        self.join = f"HashJoin: join_type={join}, on=[{keys}]"
        fragments = len(snapshot.manifest.fragments)
        self.read = (
            f"LanceRead: uri={snapshot.root.redacted_uri}, projection=[{keys}], "
            f"num_fragments={fragments}, row_addr=true"
        )
        present, missing = schemas
        self.source = f"Source: projection=[{', '.join(present.names)}]"
        self.rows = ""
        if missing.fields and plan.updates:
            self.rows = f"LanceTake: projection=[{', '.join(missing.names)}]"


def _text(lines: _Lines, elapsed: str, merge: str, source: str, read: str = "") -> str:
    text = [f"MergeInsert: {elapsed}{lines.merge}{merge}"]
    if lines.rows:
        text.append(lines.rows)
    text.append(lines.join)
    indented = [f"{'  ' * depth}{line}" for depth, line in enumerate(text)]
    below = "  " * len(text)
    return "\n".join(
        [*indented, f"{below}{lines.read}{read}", f"{below}{lines.source}{source}", ""]
    )
