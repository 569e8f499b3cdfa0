"""Writes what follows from the lists of SQL functions and constructs, or checks it.

These are the tables of the SQL page, and the names of functions by which the core names the extra
to install. A table stands between two comments, ``<!-- sql: NAME -->`` and ``<!-- end -->``; the
text around the tables is written by hand.

    python -m scripts.sql_page [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lance_core.hookspecs import SqlFunctionSpec
from lance_core.plugins.builtin import lance_sql_functions
from lance_core_functions.plugin import FUNCTIONS as OF_PLUGIN
from scripts import sql_constructs, sql_differences

FUNCTIONS: Sequence[SqlFunctionSpec] = (*lance_sql_functions(), *OF_PLUGIN)
"""All functions of this repository, those of the core first."""

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs/reference/filters.md"
KNOWN_PLUGINS = _ROOT / "lance_core/plugins/known_plugins.py"
TABLE = re.compile(r"(<!-- sql: (?P<name>[^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = re.compile(r'(?<=_SQL_FUNCTIONS = """\n).*?(?=\n""")', re.DOTALL)


def main() -> int:
    """Write both files; with ``--check``, say whether they are up to date, and return 1 if not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    is_check = parser.parse_args().check
    stale = [path for path, fill in FILLED.items() if fill(text := path.read_text("utf-8")) != text]
    for path in stale:
        print(path.name)
        if not is_check:
            path.write_text(FILLED[path](path.read_text("utf-8")), "utf-8")
    return 1 if is_check and stale else 0


def with_tables(text: str) -> str:
    """The page with all tables written anew."""
    return TABLE.sub(lambda found: f"{found[1]}\n{_TABLES[found['name']]()}\n\n{found[3]}", text)


def with_names(text: str) -> str:
    """`KNOWN_PLUGINS` with the names and aliases of all functions of the plugin."""
    names = sorted(name for function in OF_PLUGIN for name in function.names)
    lines = textwrap.wrap(" ".join(names), 96)
    return NAMES.sub(lambda _: textwrap.indent("\n".join(lines), "    "), text)


def _functions() -> str:
    groups: dict[str, list[SqlFunctionSpec]] = {function.group: [] for function in OF_PLUGIN}
    for function in FUNCTIONS:
        groups[function.group].append(function)
    return "\n\n".join(
        f"**{group[0].upper()}{group[1:]}**\n\n" + _table(("function", ""), map(_row, functions))
        for group, functions in groups.items()
    )


def _row(function: SqlFunctionSpec) -> tuple[str, str]:
    summary = function.summary
    if function.aliases:
        summary += f" Also {', '.join(map(_code, function.aliases))}."
    return _code(function.signature), _escaped(summary)


def _constructs(constructs: Sequence[sql_constructs.Construct]) -> str:
    rows = ((_signs(one), one.operands, _escaped(one.summary)) for one in constructs)
    return _table(("", "operands", ""), rows)


def _casts() -> str:
    rows = ((_signs(one), one.summary) for one in sql_constructs.CASTS)
    return _table(("type", "result"), rows)


def _differences() -> str:
    rows = ((d.example, d.here, d.pylance, d.reason) for d in sql_differences.DIFFERENCES)
    return _table(("", "here", "pylance 14", "why"), rows)


def _signs(construct: sql_constructs.Construct) -> str:
    return " ".join(map(_code, construct.signs))


def _code(text: str) -> str:
    """Code in a cell; a table's sign in code must be an entity."""
    if "|" not in text:
        return f"`{text}`"
    return f"<code>{text.replace('|', '&#124;')}</code>"


def _escaped(text: str) -> str:
    return text.replace("|", "&#124;")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


_TABLES: Mapping[str, Callable[[], str]] = {
    "functions": _functions,
    "operators": lambda: _constructs(sql_constructs.OPERATORS),
    "literals": lambda: _constructs(sql_constructs.LITERALS),
    "casts": _casts,
    "differences": _differences,
}

FILLED: Mapping[Path, Callable[[str], str]] = {PAGE: with_tables, KNOWN_PLUGINS: with_names}
"""The files that are written, and what makes the new text of the old one."""


if __name__ == "__main__":
    sys.exit(main())
