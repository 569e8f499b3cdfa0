"""What notebooks show of a dataset. Nothing is read: all of it is in the manifest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from html import escape

import numpy as np

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core.errors import LanceError
from lance_core_cli.fields import nested
from lance_core_cli.inspecting.units import byte_text, count_text, share_text

MAX_COLUMNS = 60
"""Fields that are shown, nested ones too."""

BARS = 60
"""Bars of the chart of fragments; each stands for neighbours."""

_HEIGHT = 28


def notebook_html(table: LanceDataset) -> str:
    """The version, its size, a chart of the rows of its fragments, and its columns, as HTML.

    It has the colours of the notebook, light or dark. What a damaged manifest does not tell is
    left out.
    """
    fields = list(nested(table.lance_schema.fields()))
    rows = "".join(
        f'<tr><td style="text-align:left;padding-left:{depth + 0.5}em">{_text(field.name())}</td>'
        f'<td style="text-align:left">{_text(str(field.to_arrow().type).partition("<")[0])}</td>'
        f"<td>{field.id()}</td></tr>"
        for depth, field in fields[:MAX_COLUMNS]
    )
    more = len(fields) - MAX_COLUMNS
    rest = f"<div>… and {count_text(more)} more</div>" if more > 0 else ""
    facts = ", ".join(f"{name} <b>{_text(value)}</b>" for name, value in _facts(table))
    return (
        f"<div><b>LanceDataset</b> <code>{_text(table.snapshot.root.redacted_uri)}</code>"
        f"<div>{facts}</div>{''.join(_chart(table))}<table><thead><tr>"
        '<th style="text-align:left">column</th><th style="text-align:left">type</th><th>id</th>'
        f"</tr></thead><tbody>{rows}</tbody></table>{rest}</div>"
    )


def _facts(table: LanceDataset) -> Iterator[tuple[str, str]]:
    yield "version", str(table.version)
    with contextlib.suppress(LanceError):
        counts = table.snapshot.manifest.fragments.counts
        live = counts.live_rows
        if live is not None:
            yield "rows", count_text(int(live.sum()))
            deleted, stored = int(counts.deleted_rows.sum()), int(counts.physical_rows.sum())
            if deleted:
                yield "deleted", share_text(deleted / stored)
        yield "size", byte_text(int(counts.data_bytes.sum()))
    yield "fragments", count_text(len(table.snapshot.manifest.fragments))
    with contextlib.suppress(LanceError):
        yield "file version", table.data_storage_version


def _chart(table: LanceDataset) -> Iterator[str]:
    try:
        counts = table.snapshot.manifest.fragments.counts
    except LanceError:
        return
    stored, deleted = counts.physical_rows, counts.deleted_rows
    if len(stored) < 2 or not stored.any():
        return
    edges = np.unique(np.linspace(0, len(stored), min(BARS, len(stored)) + 1, dtype=np.int64))[:-1]
    sizes = np.diff(edges, append=len(stored))
    heights = np.add.reduceat(stored, edges) / sizes
    gone = np.add.reduceat(deleted, edges) / sizes
    scale = _HEIGHT / heights.max()
    width = 6 * len(edges)
    yield (
        f'<svg width="{width}" height="{_HEIGHT}" role="img" style="display:block;margin:4px 0" '
        'aria-label="rows of fragments, deleted ones pale"><g fill="currentColor">'
    )
    for at, (rows, pale) in enumerate(zip(heights * scale, gone * scale, strict=True)):
        live = max(rows - pale, 0.5)
        yield _bar(at, _HEIGHT - live, live, 0.6)
        if pale:
            yield _bar(at, _HEIGHT - rows, pale, 0.2)
    yield "</g></svg>"


def _bar(position: int, top: float, height: float, opacity: float) -> str:
    return (
        f'<rect x="{6 * position}" y="{top:.1f}" width="5" height="{height:.1f}" '
        f'opacity="{opacity}"/>'
    )


def _text(text: str) -> str:
    return escape(one_line(text))
