"""Defects that were put in on purpose are found; without them, nothing is."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lance_core.errors import InvalidInputError
from lance_core_explorer import SHORT, Configuration, replay
from tests.each_case import each_case
from tests.explore.seed import Failure, Seed, fails, violation_of
from tests.explore.seeds import CHECKS, PLACES, SEEDS, complains

MISTAKES = ("TypeError", "AttributeError", "NameError", "KeyError", "AssertionError")
"""What a seed that is itself broken ends in."""

SCHEDULED = [seed for seed in SEEDS if isinstance(seed.where, Configuration)]
ELSEWHERE = {configuration.name for configuration in SHORT}
"""Places that `test_short_set` explores to the end, without a defect."""
CHECKED = [seed for seed in SEEDS if not isinstance(seed.where, Configuration)]


def name_of(seed: Seed) -> str:
    return seed.name


@each_case("name", sorted({*PLACES, *CHECKS} - ELSEWHERE)[::4])
def test_nothing_is_found_without_a_defect(name: str) -> None:
    """A quarter of the places; `tox -e explore` looks at all."""
    assert not complains(name)


@each_case("seed", SCHEDULED[::3], ids=name_of)
def test_the_schedule_of_a_defect_shows_it_again_and_nothing_without_it(seed: Seed) -> None:
    """A third of the defects; `tox -e explore` finds all."""
    assert isinstance(seed.where, Configuration)
    violation = violation_of(seed)
    assert violation is not None
    assert not violation.text.startswith(MISTAKES)
    text = str(violation.schedule)
    with seed.patch():
        again = replay(text, [seed.where]).verdict
    assert again is not None
    assert again.invariant == violation.invariant
    with contextlib.suppress(InvalidInputError):  # it does not do what the schedule says
        assert replay(text, [seed.where]).verdict is None


@each_case("seed", CHECKED, ids=name_of)
def test_a_defect_that_no_schedule_shows_fails_its_check(seed: Seed) -> None:
    assert not isinstance(seed.where, Configuration)
    with seed.patch():
        assert fails(seed.where)


def test_there_are_seeds_of_every_kind_and_of_different_names() -> None:
    assert {seed.failure for seed in SEEDS} == set(Failure)
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) >= 25


def test_the_page_on_commits_lists_them() -> None:
    page = Path(__file__).parents[2] / "docs" / "format" / "commits.md"
    section = page.read_text("utf-8").partition("## Defects that must be found")[2]
    assert [seed.name for seed in SEEDS if f"`{seed.name}`" not in section] == []
    assert section.count("`") // 2 == len(SEEDS) + 2
