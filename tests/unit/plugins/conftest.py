"""Plugins made up for one test, and installed distributions."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lance_core.hookspecs import hookimpl
from lance_core.plugins import get_manager

MakePlugin = Callable[..., types.SimpleNamespace]


@pytest.fixture
def make_plugin() -> MakePlugin:
    """Makes a plugin whose hooks return what is given by the name of each hook."""

    def make(**offers: object) -> types.SimpleNamespace:
        hooks = {name: hookimpl(_returning(offered)) for name, offered in offers.items()}
        return types.SimpleNamespace(**hooks)

    return make


def _returning(offered: object) -> Callable[[], object]:
    def hook() -> object:
        if isinstance(offered, BaseException):
            raise offered
        return offered

    return hook


@pytest.fixture
def registered() -> Iterator[Callable[[object, str], None]]:
    """Registers plugins with the manager of the process for the length of a test."""
    manager = get_manager()
    names: list[str] = []

    def register(plugin: object, name: str) -> None:
        names.append(manager.register(plugin, name))

    yield register
    for name in names:
        manager.unregister(name)


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution with entry points, and modules, where only this test looks."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])

    def add(distribution: str, entry_points: str, **modules: str) -> None:
        info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(entry_points)
        for name, source in modules.items():
            (site / f"{name}.py").write_text(source)
            monkeypatch.delitem(sys.modules, name, raising=False)

    return add
