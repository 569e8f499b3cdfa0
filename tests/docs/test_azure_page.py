"""The page about Azure names every option, with what becomes of it."""

from __future__ import annotations

from pathlib import Path

from lance_core_azure.options import TABLE, Option, Use

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "azure.md"
BEGIN, END = "<!-- options: begin -->\n", "<!-- options: end -->"


def row(option: Option) -> str:
    text = option.text
    if option.use is not Use.APPLIED:
        text = f"{option.use.value.capitalize()}: {text[0].lower()}{text[1:]}"
    others = " ".join(f"`{name}`" for name in option.others)
    return f"| `{option.name}` | {text} | {others} |\n"


def table() -> str:
    head = "| Option | Meaning | The same |\n|---|---|---|\n"
    return head + "".join(map(row, TABLE))


def test_the_page_has_the_table_of_options() -> None:
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert shown == table()
