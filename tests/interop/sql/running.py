"""Runs cases here and in pylance, and sorts the findings by their reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.interop.sql.cases import Case, cases
from tests.interop.sql.evaluate import Tables
from tests.interop.sql.findings import Finding, findings
from tests.interop.sql.function_cases import FUNCTIONS
from tests.interop.sql.grammar_cases import CASTS, LITERALS, OPERATORS

SUBJECTS = {
    **{f"{name}()": templates for name, templates in FUNCTIONS.items()},
    **OPERATORS,
    **{f"cast to {name}": templates for name, templates in CASTS.items()},
    **{f"literal: {name}": templates for name, templates in LITERALS.items()},
}
"""The templates of everything that is compared, by what they test."""


def all_cases(subjects: Iterable[str] = SUBJECTS) -> list[Case]:
    """The cases of ``subjects``."""
    return [case for subject in subjects for case in cases(subject, SUBJECTS[subject])]


def compared(chosen: Sequence[Case], folder: Path) -> Iterator[Finding]:
    """The findings of ``chosen``."""
    tables = Tables(folder)
    for is_pair in (False, True):
        group = [case for case in chosen if case.is_pair is is_pair]
        for start in range(0, len(group), 500):
            part = group[start : start + 500]
            texts = list(dict.fromkeys(case.text for case in part))
            here = tables.here(texts, is_pair)
            there = tables.there(texts, is_pair, here)
            for case in part:
                yield from findings(
                    case, here[case.text], there[case.text], tables.samples[is_pair]
                )
