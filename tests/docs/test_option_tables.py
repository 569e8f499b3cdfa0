"""The pages list the storage options that there are."""

from __future__ import annotations

from pathlib import Path

from tests.docs.option_tables import TABLES, shown
from tests.each_case import each_case


@each_case("page", TABLES, ids=lambda page: page.name)
def test_the_page_lists_every_option_with_its_effect(page: Path) -> None:
    assert shown(page) == TABLES[page], "run python -m tests.docs.option_tables"
