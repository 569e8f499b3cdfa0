"""The sound files that are damaged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lance_core_testing.mutants import mutants
from tests.fuzz import legacy
from tests.fuzz.judge import Verdict, judged, outcome
from tests.fuzz.page_mutations import AWARE, layout_from
from tests.golden import archive
from tests.golden.columns import FILES
from tests.golden.reading import leaf_columns, opened

HOT = 700


def golden() -> dict[str, bytes]:
    """The golden files of 2.1 and 2.2: the name of each, and its bytes."""
    kept = archive.all_stored(archive.PYLANCE)
    return {f"{name}, {version}": kept[archive.member(name, version)] for name, version in FILES}


def damage(files: dict[str, bytes], count: int, seed: int) -> Iterator[tuple[str, Verdict]]:
    """Judge ``count`` mutants of all ``files`` together, file by file."""
    extra = (*AWARE, layout_from(list(files.values())))
    for number, (name, raw) in enumerate(files.items()):
        schema = opened(raw).schema
        assert outcome(raw, schema, leaf_columns) == "read", name
        share = count * (number + 1) // len(files) - count * number // len(files)
        found = mutants(raw, share, seed=seed * 1000 + number, extra=extra, hot=HOT)
        yield name, judged(found, partial(outcome, schema=schema, mapper=leaf_columns))


def damage_legacy(count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants of a file of version 0.1."""
    raw = legacy.legacy_file()
    schema = opened(raw).schema
    assert outcome(raw, schema, legacy.pages_of_ids) == "read"
    found = mutants(raw, count, seed=seed, extra=legacy.AWARE, hot=legacy.HOT)
    return judged(found, partial(outcome, schema=schema, mapper=legacy.pages_of_ids))
