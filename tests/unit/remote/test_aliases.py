"""Options of all remote stores have the same other names under every prefix."""

from __future__ import annotations

from lance_core_remote.settings import ALIASES, OPTIONS, aliases
from tests.each_case import each_case


@each_case("prefix", ["aws_", "azure_", "google_"])
def test_every_option_is_known_by_the_prefix_and_by_its_other_names(prefix: str) -> None:
    names = aliases(prefix)
    known = OPTIONS - {"headers.*"}
    assert names.keys() == {f"{prefix}{name}" for name in known | ALIASES.keys()} | ALIASES.keys()
    assert set(names.values()) == known
    assert names["request_timeout"] == names[f"{prefix}request_timeout"] == "timeout"
    assert names[f"{prefix}timeout"] == "timeout"


def test_what_a_plugin_adds_to_its_names_stays_its_own() -> None:
    aliases("aws_")["mine"] = "timeout"
    assert "mine" not in aliases("aws_")
    assert "mine" not in ALIASES
