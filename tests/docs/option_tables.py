"""The tables of storage options in the documentation, made from the options themselves.

`python -m tests.docs.option_tables` writes them into the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import lance_core_azure.options
import lance_core_gcs.options
import lance_core_s3.options
from lance_core_remote import settings as shared
from lance_core_remote.options import Option, Use
from tests.docs.page_examples import ROOT

BEGIN, END = "<!-- options: begin -->\n", "<!-- options: end -->"

DOCS = ROOT / "docs"


def table(options: Iterable[Option], variables: Callable[[str], Iterable[str]]) -> str:
    """A table of options, with what each means, and the variables that replace it."""
    head = "| Option | Meaning | Environment |\n|---|---|---|\n"
    return head + "".join(row(option, variables(option.name)) for option in options)


def row(option: Option, variables: Iterable[str]) -> str:
    text = option.text
    if option.use is not Use.APPLIED:
        kind = "Without effect" if option.use is Use.IGNORED else "Refused"
        text = f"{kind}: {text[0].lower()}{text[1:]}"
    return f"| {_code(option.names)} | {text} | {_code(variables)} |\n".replace("|  |", "| |")


def _code(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _of_every_store(name: str) -> list[str]:
    return [] if name.endswith("*") else [f"…_{name.upper()}", name.upper()]


TABLES: dict[Path, str] = {
    DOCS / "reference" / "store-options.md": table(shared.TABLE, _of_every_store),
    DOCS / "plugins" / "s3.md": table(
        lance_core_s3.options.TABLE, lambda name: lance_core_s3.options.BY_NAME[name].environment
    ),
    DOCS / "plugins" / "gcs.md": table(
        lance_core_gcs.options.TABLE, lambda name: lance_core_gcs.options.VARIABLES.get(name, ())
    ),
    DOCS / "plugins" / "azure.md": table(
        lance_core_azure.options.TABLE,
        lambda name: lance_core_azure.options.VARIABLES.get(name, ()),
    ),
}
"""The table that each page must have."""


def shown(page: Path) -> str:
    """The table that a page has."""
    return page.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    """Write the tables into the pages."""
    for page, text in TABLES.items():
        before, begin, rest = page.read_text("utf-8").partition(BEGIN)
        page.write_text(before + begin + text + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    write()
