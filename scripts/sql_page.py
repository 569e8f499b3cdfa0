"""Writes the tables of the SQL page from the lists of functions and constructs, or checks them.

A table stands between two comments, ``<!-- sql: NAME -->`` and ``<!-- end -->``; the text around
the tables is written by hand.

    python scripts/sql_page.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lance_core.dataset.expressions.sql import catalog, differences
from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.functions.function_list import GROUPS

PAGE = Path(__file__).parents[1] / "docs/reference/filters.md"
TABLE = re.compile(r"(<!-- sql: (?P<name>[^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Write the page; with ``--check``, say whether it is up to date, and return 1 if not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    is_check = parser.parse_args().check
    text = PAGE.read_text("utf-8")
    filled = with_tables(text)
    if filled == text:
        return 0
    print(PAGE.name)
    if not is_check:
        PAGE.write_text(filled, "utf-8")
    return 1 if is_check else 0


def with_tables(text: str) -> str:
    """The page with all tables written anew."""
    return TABLE.sub(lambda found: f"{found[1]}\n{_TABLES[found['name']]()}\n\n{found[3]}", text)


def _functions() -> str:
    return "\n\n".join(
        f"**{group[0].upper()}{group[1:]}**\n\n" + _table(("function", ""), map(_row, functions))
        for group, functions in GROUPS.items()
    )


def _row(function: Function) -> tuple[str, str]:
    summary = function.summary
    if function.aliases:
        summary += f" Also {', '.join(map(_code, function.aliases))}."
    if function.is_engine:
        summary += " Needs the extra `datafusion`."
    written = "a || b" if function.name == "||" else function.signature
    return _code(written), _escaped(summary)


def _constructs(constructs: Sequence[catalog.Construct]) -> str:
    rows = ((_signs(one), one.operands, _escaped(one.summary)) for one in constructs)
    return _table(("", "operands", ""), rows)


def _casts() -> str:
    rows = ((_signs(one), one.summary) for one in catalog.CASTS)
    return _table(("type", "result"), rows)


def _differences() -> str:
    rows = ((d.example, d.here, d.pylance, d.reason) for d in differences.DIFFERENCES)
    return _table(("", "here", "pylance 14", "why"), rows)


def _signs(construct: catalog.Construct) -> str:
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
    "operators": lambda: _constructs(catalog.OPERATORS),
    "literals": lambda: _constructs(catalog.LITERALS),
    "casts": _casts,
    "differences": _differences,
}


if __name__ == "__main__":
    sys.exit(main())
