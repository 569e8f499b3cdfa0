"""One test for many cases: every case is tried, and each that fails is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any


def each_case(
    names: str | Iterable[str], cases: Iterable[Any], ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test that is called with each case in turn, where ``parametrize`` makes a test of each.

    ``names`` and ``cases`` are those of `pytest.mark.parametrize`; ``ids`` is accepted so that the
    two can be exchanged. Every case is tried; the errors of those that fail are raised together as
    an `ExceptionGroup`, each with its case. A folder ``tmp_path`` is a new one for each case; other
    fixtures are shared by all, so they must not keep anything of a case.

    Being collected, set up, sent to a process and reported costs a test more than most cases do
    themselves, in time and in memory of every process.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = [_values_of(case, len(wanted)) for case in cases]
    assert values

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            failed = []
            for number, case in enumerate(values):
                given = dict(zip(wanted, case, strict=True))
                try:
                    test(**_with_own_folder(fixtures, number), **given)
                except Exception as error:
                    error.add_note(f"case {number}: {str(given)[:300]}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(values)} cases fail", failed)

        rest = [one for name, one in signature.parameters.items() if name not in wanted]
        all_cases.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def _values_of(case: Any, count: int) -> tuple[Any, ...]:
    """The arguments of a case, perhaps a `pytest.param`."""
    given = getattr(case, "values", None) if hasattr(case, "marks") else None
    if given is not None:
        return tuple(given)
    return tuple(case) if count > 1 else (case,)


def _with_own_folder(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    folder = fixtures.get("tmp_path")
    if folder is None:
        return fixtures
    own: Path = folder / str(number)
    own.mkdir()
    return {**fixtures, "tmp_path": own}
