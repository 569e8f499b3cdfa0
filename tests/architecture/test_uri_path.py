"""The way of a URI: `lance_core.dataset` parses it once, and hands it down without detours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.store.config import StoreConfig
from lance_core.store.uri import StoreUrl
from tests.architecture.profiling import profiled

MOST_ENTRIES = 2

KEYS = frozenset({"__hash__", "__eq__"})
"""Methods by which caches compare what they know."""


def calls_with(uri: str) -> list[tuple[str, str, str]]:
    """Calls of the library that are given ``uri``, parsed or not, while it is opened.

    The module that calls, the module that is called, and its function.
    """
    calls: list[tuple[str, str, str]] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        module, code = str(frame.f_globals.get("__name__", "")), frame.f_code
        if module == "lance_core.lazy_dataclass" and code.co_name == "__init__":
            module = type(frame.f_locals["self"]).__module__  # as of any other dataclass
        if event != "call" or not module.startswith("lance_core.") or code.co_name in KEYS:
            return
        count = code.co_argcount + code.co_kwonlyargcount
        given = (frame.f_locals.get(name) for name in code.co_varnames[:count])
        if any(isinstance(one, StoreConfig | StoreUrl) or one is uri for one in given):
            caller = "" if frame.f_back is None else str(frame.f_back.f_globals.get("__name__", ""))
            calls.append((caller, module, code.co_name))

    with profiled(profile):
        lance.dataset(uri)
    return calls


@pytest.mark.parametrize("place", ["file", "memory"])
def test_a_uri_is_parsed_once_and_enters_no_module_more_than_twice(
    place: str, tmp_path: Path
) -> None:
    uri = str(tmp_path / "t") if place == "file" else "memory://way-of-a-uri/t"
    lance.write_dataset(pa.table({"i": [1]}), uri, mode="overwrite")
    calls = calls_with(uri)
    assert [name for _, _, name in calls].count("parse_uri") == 1
    entries = Counter(called for caller, called, _ in calls if caller != called)
    assert {module: n for module, n in entries.items() if n > MOST_ENTRIES} == {}
    assert "lance_core.dataset.snapshot.open_table" in entries
