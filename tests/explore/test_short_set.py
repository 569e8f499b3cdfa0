"""Every schedule of the short set keeps every promise; a control shows that this is looked at."""

from __future__ import annotations

import pytest

from lance_core_explorer import SHORT, Configuration, Report, explore
from lance_core_explorer.runner import is_as_expected

CONTROLS = [configuration.name for configuration in SHORT if configuration.violates]
reports: dict[str, Report] = {}


@pytest.mark.parametrize("configuration", SHORT, ids=lambda configuration: configuration.name)
@pytest.mark.xdist_group("explore")
def test_every_schedule_keeps_every_promise(configuration: Configuration) -> None:
    report = reports[configuration.name] = explore(configuration)
    shown = [str(violation.schedule) for violation in report.violations]
    assert is_as_expected(report, CONTROLS), "\n".join(shown)


@pytest.mark.xdist_group("explore")
def test_the_short_set_is_not_small() -> None:
    done = [reports.get(one.name) or explore(one) for one in SHORT]
    assert sum(report.states for report in done) >= 50_000
    assert sum(report.ends for report in done) >= 500


def test_there_is_a_control() -> None:
    assert len(CONTROLS) == 1
