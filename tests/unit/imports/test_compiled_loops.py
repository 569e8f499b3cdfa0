"""Which library of a plugin's package is used."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lance_core.imports.compiled_loops import CompiledLoops

PACKAGE = "package_with_loops"
SIGNATURES = b"def rank() -> None: ...\n"
VARIABLE = "PACKAGE_LOOPS"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_native.pyi").write_bytes(SIGNATURES)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def compiled(package: Path, interface: int) -> None:
    (package / "_native.py").write_text(f"INTERFACE = {interface}\n")


def test_a_library_of_the_same_sources_is_used(package: Path) -> None:
    compiled(package, zlib.crc32(SIGNATURES))
    loops = CompiledLoops(PACKAGE, VARIABLE)
    assert loops.is_used()
    assert loops.native is sys.modules[f"{PACKAGE}._native"]
    with loops.switched_off():
        assert not loops.is_used()
    assert loops.is_used()


@pytest.mark.usefixtures("package")
def test_a_package_without_a_library_is_no_reason_to_warn() -> None:
    loops = CompiledLoops(PACKAGE, VARIABLE)
    assert not loops.is_used()
    assert loops.native is None


def test_the_environment_switches_the_library_off(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(package, zlib.crc32(SIGNATURES))
    monkeypatch.setenv(VARIABLE, "numpy")
    assert not CompiledLoops(PACKAGE, VARIABLE).is_used()


def test_a_library_of_other_sources_is_not_used(package: Path) -> None:
    compiled(package, 1)
    with pytest.warns(RuntimeWarning, match="not those of this package-with-loops; install it"):
        loops = CompiledLoops(PACKAGE, VARIABLE)
    assert not loops.is_used()


def test_a_library_that_cannot_be_loaded_is_not_used(package: Path) -> None:
    (package / "_native.py").write_text("raise ImportError('undefined symbol')\n")
    with pytest.warns(RuntimeWarning, match="not used, but numpy: undefined symbol"):
        loops = CompiledLoops(PACKAGE, VARIABLE)
    assert not loops.is_used()
