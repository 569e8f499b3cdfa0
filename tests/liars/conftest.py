"""A module's plugin that lies, registered while its tests run, and trials of verbs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lance_core.commits import outcome
from lance_core.plugins import get_manager
from tests.liars.trial import Trial


@pytest.fixture(scope="module")
def without_pauses() -> Iterator[None]:
    """Candidates are sent again at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome, "FIRST_PAUSE", 1e-6)
        yield


@pytest.fixture(scope="module")
def plugin(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The ``Plugin`` of the module of the test."""
    plugin = request.module.Plugin()
    name = get_manager().register(plugin, "liars")
    yield plugin
    get_manager().unregister(name)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trial]:
    """Makes the trial of a verb, once for a module."""
    return functools.cache(lambda verb: Trial(tmp_path_factory.mktemp("trial"), verb))
