"""The cyclic garbage collector pauses only while many values are created."""

from __future__ import annotations

import gc

from lance_core.imports.pauses import MANY_VALUES, pausing_for


def test_collections_pause_for_many_values_and_go_on_afterwards() -> None:
    assert gc.isenabled()
    with pausing_for(MANY_VALUES):
        assert not gc.isenabled()
    assert gc.isenabled()
    with pausing_for(MANY_VALUES - 1):
        assert gc.isenabled()
