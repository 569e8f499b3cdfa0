"""The page about Google Cloud Storage names every option and every other name of it."""

from __future__ import annotations

from pathlib import Path

from lance_core.store.remote import settings
from lance_core_gcs.options import ALIASES, OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "gcs.md"


def test_the_page_names_every_option() -> None:
    text = PAGE.read_text("utf-8")
    every = OPTIONS | (ALIASES.keys() - settings.aliases("google_").keys())
    assert {name for name in every if f"`{name}`" not in text} == set()
