"""The page of the S3 plugin lists the options that there are."""

from __future__ import annotations

from lance_core.store.remote import settings as shared
from lance_core_s3.options import PREFIX, TABLE, Option, Use
from tests.docs.page_examples import ROOT

PAGE = ROOT / "docs" / "plugins" / "s3.md"
BEGIN, END = "<!-- options: begin -->\n", "<!-- options: end -->"
USES = {Use.SUPPORTED: "", Use.IGNORED: "Ignored: ", Use.REFUSED: "Refused: "}


def row(option: Option) -> str:
    names = [option.name, *(name for name in option.others if name.startswith(PREFIX))]
    text = option.text
    if option.use is not Use.SUPPORTED:
        text = USES[option.use] + text[0].lower() + text[1:]
    cells = (
        " ".join(f"`{name}`" for name in names),
        text,
        " ".join(f"`{name}`" for name in option.environment),
    )
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def table() -> str:
    """The table that the page must have."""
    return "| Option | Meaning | Environment |\n|---|---|---|\n" + "".join(map(row, TABLE))


def test_the_page_lists_every_option() -> None:
    assert PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0] == table()


def test_the_page_names_the_options_of_all_remote_stores() -> None:
    text = PAGE.read_text("utf-8")
    assert [name for name in sorted(shared.OPTIONS) if f"`{name}`" not in text] == []
