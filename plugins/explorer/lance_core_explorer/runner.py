"""Run sets of configurations and print their reports."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence

from lance_core_explorer.configuration import Configuration
from lance_core_explorer.search import UNLIMITED, Limits, Report, explore

_HEADING = ("configuration", "states", "ends", "runs", "seconds", "exhausted", "violations")


def explore_all(
    configurations: Sequence[Configuration], limits: Limits = UNLIMITED, processes: int = 1
) -> Iterator[Report]:
    """Explore each configuration, optionally in several processes; yields finished reports.

    Configurations contain functions, which cannot be pickled, so processes are forked and identify
    configurations by number.
    """
    if processes == 1:
        for configuration in configurations:
            yield explore(configuration, limits=limits)
        return
    context = multiprocessing.get_context("fork")
    tasks: multiprocessing.Queue[int | None] = context.Queue()
    reports: multiprocessing.Queue[Report | str] = context.Queue()
    for number in range(len(configurations)):
        tasks.put(number)
    for _ in range(processes):
        tasks.put(None)

    def work() -> None:
        while (number := tasks.get()) is not None:
            try:
                reports.put(explore(configurations[number], limits=limits))
            except Exception as error:
                reports.put(f"{configurations[number].name}: {type(error).__name__}: {error}")

    workers = [context.Process(target=work, daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for _ in configurations:
        report = reports.get()
        if isinstance(report, str):
            raise AssertionError(report)
        yield report
    for worker in workers:
        worker.join()


def run(
    configurations: Sequence[Configuration],
    write: Callable[[str], object],
    limits: Limits = UNLIMITED,
    processes: int = 1,
) -> bool:
    """Explore ``configurations`` and write a table; True if all results are as expected.

    Each configuration must be exhausted without a violation, and each control must have one.
    """
    controls = {configuration.name for configuration in configurations if configuration.violates}
    write(_line(_HEADING))
    done: list[Report] = []
    for report in explore_all(configurations, limits, processes):
        done.append(report)
        write(_line(_row(report)))
    total = (
        f"{len(done)} configurations",
        f"{sum(report.states for report in done):,}",
        f"{sum(report.ends for report in done):,}",
        f"{sum(report.runs for report in done):,}",
        f"{sum(report.seconds for report in done):.1f}",
        "",
        "",
    )
    write(_line(total))
    wrong = [report for report in done if not is_as_expected(report, controls)]
    for report in wrong:
        for violation in report.violations:
            write(f"\n{violation.invariant}: {violation.text}\n{violation.schedule}\n")
    return not wrong


def is_as_expected(report: Report, controls: Iterable[str]) -> bool:
    """True if a control has a violation; for others, if all schedules were run without one."""
    if report.configuration in controls:
        return bool(report.violations)
    return report.exhausted and not report.violations


def _row(report: Report) -> tuple[str, ...]:
    invariants = ", ".join(violation.invariant for violation in report.violations)
    return (
        report.configuration,
        f"{report.states:,}",
        f"{report.ends:,}",
        f"{report.runs:,}",
        f"{report.seconds:.1f}",
        "yes" if report.exhausted else "no",
        invariants or "0",
    )


def _line(cells: Sequence[str]) -> str:
    first, *rest = cells
    return f"{first:62}" + "".join(f"{cell:>12}" for cell in rest)
