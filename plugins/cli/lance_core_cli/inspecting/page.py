"""The facts about a table as one page of HTML, which needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core import __version__
from lance_core.commands import one_line
from lance_core_cli.inspecting.charts import area_chart
from lance_core_cli.inspecting.columns import ColumnFacts
from lance_core_cli.inspecting.facts import TableFacts
from lance_core_cli.inspecting.fragments import FragmentFacts
from lance_core_cli.inspecting.units import byte_text, count_text, share_text

MAX_COLUMNS = 1000
MAX_LISTED = 50
"""Fields, and versions, tags and entries of the configuration, that the page lists."""

_METRICS = (
    ("rows", "Rows"),
    ("bytes", "Bytes"),
    ("deleted", "Deleted share"),
    ("age", "Age"),
    ("files", "Data files"),
)


def page(facts: TableFacts) -> str:
    """The whole page. Names of the table are escaped, and no script of them could run.

    Its policy (``Content-Security-Policy``) allows this script alone, and no request.
    """
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    name = _text(facts.uri.rstrip("/").rpartition("/")[2] or facts.uri)
    parts = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}, version {facts.version}</title>",
        f"<style>{_resource('page.css')}</style></head><body>",
        '<a class="skip" href="#main">To the content</a>',
        *_header(facts, name),
        '<main id="main">',
        *_problems(facts),
        *_advice(facts),
        *_fragments(facts),
        *_versions(facts),
        *_columns(facts),
        *_indices(facts),
        *_configuration(facts),
        "</main>",
        f"<footer>Made by lance-core {escape(__version__)}, {_time(datetime.now(UTC))}. ",
        "This page is one file; it loads nothing.</footer>",
        f'<script type="application/json" id="data">{_data(facts)}</script>',
        f"<script>{script}</script></body></html>",
    )
    return "\n".join(parts)


def _header(facts: TableFacts, name: str) -> Iterator[str]:
    made = "" if facts.time is None else f", {_time(facts.time)}"
    stored = facts.rows + facts.deleted_rows
    gone = share_text(facts.deleted_rows / stored) if facts.deleted_rows else "none"
    tiles = (
        ("Rows", count_text(facts.rows)),
        ("Deleted rows", gone),
        ("Data files", byte_text(facts.bytes)),
        ("Fragments", count_text(len(facts.fragments))),
        ("Columns", count_text(sum(column.depth == 0 for column in facts.columns))),
        ("Indices", count_text(len(facts.indices))),
        ("Versions", count_text(len(facts.versions) + facts.older_versions)),
    )
    yield f"<header><h1>{name}</h1>"
    yield f'<p class="where"><code>{_text(facts.uri)}</code><br>Version {facts.version}{made}, '
    ids = ", stable row ids" if facts.stable_row_ids else ""
    yield f"file version {escape(facts.file_version)}{ids}</p>"
    cells = (f"<li><b>{value}</b><span>{label}</span></li>" for label, value in tiles)
    yield f'<ul class="tiles">{"".join(cells)}</ul></header>'


def _problems(facts: TableFacts) -> Iterator[str]:
    if facts.problems:
        items = "".join(f"<li>{_text(problem)}</li>" for problem in facts.problems[:MAX_LISTED])
        yield f'<section><h2>Could not be read</h2><ul class="problems">{items}</ul></section>'


def _advice(facts: TableFacts) -> Iterator[str]:
    yield "<section><h2>What to do</h2>"
    if not facts.advice:
        yield "<p>Nothing: the table is in good order.</p></section>"
        return
    yield '<ul class="advice">'
    for item in facts.advice:
        text = item.text[:1].upper() + item.text[1:]
        yield f'<li>{_text(text)}<span class="command"><code>{_text(item.command)}</code>'
        yield '<button class="copy" type="button" hidden>Copy</button></span></li>'
    yield "</ul></section>"


def _fragments(facts: TableFacts) -> Iterator[str]:
    parts = facts.fragments
    yield "<section><h2>Fragments</h2>"
    if not len(parts):
        yield "<p>The table has none.</p></section>"
        return
    radios = "".join(
        f'<label><input type="radio" name="metric" value="{value}"'
        f"{' checked' if value == 'rows' else ''}><span>{label}</span></label>"
        for value, label in _METRICS
    )
    facts_of_one = (
        *(("id", "Fragment"), ("rows", "Rows"), ("deleted", "Deleted rows")),
        *(("bytes", "Bytes"), ("files", "Data files"), ("created", "Added by version")),
    )
    details = "".join(f'<dt>{label}</dt><dd id="f-{name}"></dd>' for name, label in facts_of_one)
    yield f"""<div id="fragments" hidden>
<fieldset><legend>Colour by</legend>{radios}</fieldset>
<div class="map"><div>
<canvas id="map" tabindex="0" role="application" aria-roledescription="map"
 aria-label="Map of {len(parts)} fragments in the order of the table; arrow keys choose one"
 aria-describedby="details"></canvas>
<div class="scale"><span id="low"></span><i id="ramp"></i><span id="high"></span></div></div>
<div><label class="pick">Position <input type="number" id="fragment" min="1" max="{len(parts)}"
 value="1"> of&nbsp;{count_text(len(parts))}</label>
<dl id="details" aria-live="polite">{details}</dl>
<h3>Distribution</h3>
<svg id="histogram" viewBox="0 0 260 94" role="img"></svg></div></div></div>
<noscript><p class="note">The map of fragments needs JavaScript.</p></noscript>"""
    yield from _fragment_table(parts)
    yield "</section>"


def _fragment_table(parts: FragmentFacts) -> Iterator[str]:
    rows = []
    share = np.divide(parts.deleted, parts.rows, out=np.zeros(len(parts)), where=parts.rows > 0)
    for label, values, text in (
        ("Rows", parts.live_rows, count_text),
        ("Bytes", parts.bytes, byte_text),
        ("Deleted share", share, share_text),
        ("Data files", parts.files, count_text),
    ):
        spread = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="nearest").tolist()
        cells = "".join(f'<td class="n">{text(value)}</td>' for value in spread)
        rows.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    heads = ("smallest", "a quarter below", "median", "a quarter above", "largest")
    yield "<details><summary>Numbers</summary>"
    yield from _table(("of a fragment", *heads), rows, numbers=heads)
    yield "</details>"


def _versions(facts: TableFacts) -> Iterator[str]:
    versions = facts.versions
    yield "<section><h2>Versions</h2>"
    if len(versions) > 1:
        numbers = [version.version for version in versions]
        yield '<div class="charts">'
        yield area_chart("Rows", numbers, [v.rows for v in versions], count_text)
        yield area_chart("Bytes of data files", numbers, [v.bytes for v in versions], byte_text)
        yield area_chart("Fragments", numbers, [v.fragments for v in versions], count_text)
        yield "</div>"
    named: dict[int, list[str]] = {}
    for tag, number in facts.tags.items():
        named.setdefault(number, []).append(tag)
    rows = [
        f'<tr><td class="n">{v.version}</td><td>{"" if v.time is None else _time(v.time)}</td>'
        f"<td>{escape(v.operation or 'not recorded')}{_chips(named.get(v.version, ()))}</td>"
        f'<td class="n">{count_text(v.rows)}</td><td class="n">{byte_text(v.bytes)}</td>'
        f'<td class="n">{count_text(v.fragments)}</td></tr>'
        for v in reversed(versions[-MAX_LISTED:])
    ]
    numbers_of = ("Version", "Rows", "Bytes", "Fragments")
    is_open = " open" if len(rows) <= 10 else ""
    yield f"<details{is_open}><summary>The newest {len(rows)}</summary>"
    yield from _table(("Version", "Time", "Operation", *numbers_of[1:]), rows, numbers=numbers_of)
    yield "</details>"
    if facts.older_versions:
        older = count_text(facts.older_versions)
        yield f'<p class="note">{older} older versions were not read.</p>'
    yield "</section>"


def _columns(facts: TableFacts) -> Iterator[str]:
    columns = facts.columns
    total = sum(column.bytes for column in columns if column.depth == 0)
    most = max((column.bytes for column in columns), default=0)
    stored = facts.rows + facts.deleted_rows
    rows = [_column(column, total, most, stored) for column in columns[:MAX_COLUMNS]]
    numbers = ("Bytes", "of a row", "In memory", "Pages")
    yield "<section><h2>Columns</h2>"
    yield from _table(("Column", "Type", *numbers, "Encodings"), rows, numbers=numbers)
    if len(columns) > MAX_COLUMNS:
        yield f'<p class="note">{count_text(len(columns) - MAX_COLUMNS)} more fields.</p>'
    sample = facts.sample
    if not sample.is_whole:
        yield (
            f'<p class="note">Estimated by the files of {count_text(sample.fragments)} of '
            f"{count_text(sample.of_fragments)} fragments.</p>"
        )
    if sample.rows_in_memory:
        yield (
            '<p class="note">In memory: how many times as much the values take there as in files, '
            f"by the first {count_text(sample.rows_in_memory)} rows.</p>"
        )
    yield "</section>"


def _column(column: ColumnFacts, total: int, most: int, rows: int) -> str:
    indent = f' style="padding-left:{0.5 + 1.2 * column.depth}em"' if column.depth else ""
    share = f" ({share_text(column.bytes / total)})" if total and not column.depth else ""
    width = 100 * column.bytes / most if most else 0
    ratio = "" if column.compression is None else f"{column.compression:.1f} x"
    null = "" if column.nullable else ", not null"
    encodings = (
        name if part == 1 else f"{name}: {share_text(part)}"
        for name, part in column.encodings.items()
    )
    return (
        f'<tr><th scope="row"{indent}>{_text(column.name)}</th>'
        f'<td class="type">{_text(column.type)}{null}</td>'
        f'<td class="n">{byte_text(column.bytes)}{share}'
        f'<span class="bar"><i style="width:{width:.1f}%"></i></span></td>'
        f'<td class="n">{byte_text(column.bytes / rows) if rows else ""}</td>'
        f'<td class="n">{ratio}</td>'
        f'<td class="n">{count_text(column.pages) if column.pages else ""}</td>'
        f"<td>{_chips(encodings)}</td></tr>"
    )


def _indices(facts: TableFacts) -> Iterator[str]:
    yield "<section><h2>Indices</h2>"
    if not facts.indices:
        yield "<p>The table has none.</p></section>"
        return
    rows = [
        f'<tr><th scope="row">{_text(index.name)}</th><td>{_text(index.type)}</td>'
        f"<td>{_text(', '.join(index.columns))}</td>"
        f'<td class="n">{share_text(index.coverage)}'
        f'<span class="bar"><i style="width:{100 * index.coverage:.1f}%"></i></span></td>'
        f'<td class="n">{"" if index.bytes is None else byte_text(index.bytes)}</td>'
        f'<td class="n">{index.segments}</td><td class="n">{index.built_from_version}</td></tr>'
        for index in facts.indices
    ]
    numbers = ("Rows covered", "Bytes", "Segments", "Built from version")
    yield from _table(("Index", "Type", "Columns", *numbers), rows, numbers=numbers)
    yield "</section>"


def _configuration(facts: TableFacts) -> Iterator[str]:
    for title, entries in (("Tags", facts.tags), ("Configuration", facts.config)):
        if entries:
            items = list(entries.items())[:MAX_LISTED]
            rows = [
                f'<tr><th scope="row">{_text(key)}</th><td>{_text(str(value))}</td></tr>'
                for key, value in items
            ]
            yield f"<section><h2>{title}</h2>"
            yield from _table(("Name", "Version" if title == "Tags" else "Value"), rows)
            yield "</section>"


def _table(heads: Iterable[str], rows: Iterable[str], numbers: Iterable[str] = ()) -> Iterator[str]:
    right = set(numbers)
    cells = (f'<th scope="col"{" class=n" if h in right else ""}>{h}</th>' for h in heads)
    yield f'<div class="scroll"><table><thead><tr>{"".join(cells)}</tr></thead><tbody>'
    yield from rows
    yield "</tbody></table></div>"


def _chips(texts: Iterable[str]) -> str:
    return "".join(f' <span class="chip">{_text(text)}</span>' for text in texts)


def _text(text: str) -> str:
    """``text`` for a page: escaped, without control characters."""
    return escape(one_line(text))


def _time(moment: datetime) -> str:
    shown = moment.astimezone(UTC)
    return f'<time datetime="{shown.isoformat()}">{shown:%Y-%m-%d %H:%M} UTC</time>'


def _data(facts: TableFacts) -> str:
    """What the script needs, as JSON; it has no text of the table."""
    parts = facts.fragments
    columns = {
        "ids": _packed(parts.ids),
        "rows": _packed(parts.rows),
        "deleted": _packed(parts.deleted),
        "bytes": _packed(parts.bytes),
        "files": _packed(parts.files),
        "created": _packed(parts.created),
    }
    oldest = facts.versions[0].version if facts.versions else 0
    data = {"columns": columns, "oldest": oldest, "more": facts.older_versions > 0}
    return json.dumps(data).replace("<", "\\u003c")


def _packed(values: npt.NDArray[np.int64]) -> dict[str, Any]:
    """An array of numbers that are not negative, in the shortest type, with zlib and base64."""
    most = int(values.max(initial=0))
    types = (("u1", 1 << 8), ("u2", 1 << 16), ("u4", 1 << 32), ("f8", 1 << 63))
    name = next(name for name, end in types if most < end)
    data = zlib.compress(values.astype(f"<{name}").tobytes(), 9)
    return {"type": name, "bytes": base64.b64encode(data).decode()}


def _resource(name: str) -> str:
    return files("lance_core_cli.inspecting").joinpath(name).read_text("utf-8")
