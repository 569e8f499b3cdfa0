"""One test for many cases: every case is tried, and each that fails is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any


def each_case(
    names: str | Iterable[str],
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: object = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test that is called with each case in turn, where ``parametrize`` makes a test of each.

    ``names`` and ``cases`` are those of `pytest.mark.parametrize`; ``ids`` is accepted so that the
    two can be exchanged. ``cases`` may be a function, which makes large cases when the test runs.
    Every case is tried; the errors of those that fail are raised together as an `ExceptionGroup`,
    each with its case. A folder ``tmp_path`` is a new one for each case; other fixtures are shared
    by all, so they must not keep anything of a case.

    Being collected, set up, sent to a process and reported costs a test more than most cases do
    themselves, in time and in memory of every process.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if isinstance(cases, Iterable):
        cases = list(cases)
        assert cases

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            failed = []
            number = -1
            for number, case in enumerate(cases if isinstance(cases, Iterable) else cases()):
                given = dict(zip(wanted, _values_of(case, len(wanted)), strict=True))
                try:
                    test(**_with_own_folder(fixtures, number), **given)
                except Exception as error:
                    error.add_note(f"case {number}: {str(given)[:300]}")
                    failed.append(error)
            assert number >= 0
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {number + 1} cases fail", failed)

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
