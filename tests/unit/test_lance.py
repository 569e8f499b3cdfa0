"""`lance_core.lance`: the names of pylance's compiled module."""

from __future__ import annotations

import lance_core.lance
import lance_core.optimize
from lance_core.schema import LanceSchema


def test_its_names_are_those_of_the_public_modules() -> None:
    names = lance_core.lance.__all__
    for home in (lance_core, lance_core.optimize):
        for name in set(names) & set(home.__all__):
            assert getattr(lance_core.lance, name) is getattr(home, name)
    assert lance_core.lance.LanceSchema is LanceSchema
    assert {"Compaction", "CompactionMetrics", "RewriteResult"} <= set(names)
