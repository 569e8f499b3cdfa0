"""Stored tables of the reference implementation, and what several modules check with."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lance_core.errors import LanceError
from lance_core.table.manifest.file import ManifestFile, parse_manifest_file
from tests.golden.pylance_tables import unpacked

Parser = Callable[[bytes], object]


@pytest.fixture(scope="session", params=["addresses", "stable-row-ids"])
def foreign_table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a history of all operations that this library makes; not to be changed."""
    return unpacked(request.param, tmp_path_factory.mktemp("foreign"))


def _manifests(table: Path) -> list[Path]:
    return sorted((table / "_versions").glob("*.manifest"), reverse=True)


@pytest.fixture
def manifests() -> Callable[[Path], list[Path]]:
    """The manifest files of a table with V2 names, oldest version first."""
    return _manifests


@pytest.fixture
def history(foreign_table: Path) -> list[tuple[bytes, ManifestFile]]:
    """Bytes and value of each version, oldest first."""
    contents = [path.read_bytes() for path in _manifests(foreign_table)]
    return [(data, parse_manifest_file(data)) for data in contents]


def _mutants(data: bytes, count: int) -> Iterator[bytes]:
    chance = random.Random(len(data))
    for cut in {0, 1, 15, 16, 17, 20, *(chance.randrange(len(data)) for _ in range(count // 4))}:
        yield data[:cut]
    for _ in range(count):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 4))):
            width = chance.choice((1, 1, 1, 4, 8))
            at = chance.randrange(max(1, len(mutant) - width + 1))
            mutant[at : at + width] = chance.choice(
                (bytes(width), b"\xff" * width, chance.randbytes(width))
            )
        yield bytes(mutant[: len(data)])


@pytest.fixture
def survives_mutation() -> Callable[[Parser, bytes, int], None]:
    """A check: a parser gives a value or a `LanceError` for damaged input.

    It takes at most two seconds of the processor.
    """

    def check(parse: Parser, data: bytes, count: int) -> None:
        for mutant in _mutants(data, count):
            start = time.thread_time()
            with contextlib.suppress(LanceError):
                parse(mutant)
            assert time.thread_time() - start < 2

    return check
