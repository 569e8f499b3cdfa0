"""How many random examples tests try."""

from __future__ import annotations

import os

IS_FULL_RUN = "LANCE_CORE_FULL_MATRIX" in os.environ
"""Whether this is `tox -e matrix`."""


def examples(few: int) -> int:
    """So ``few`` among all tests, and twenty times as many in a full run."""
    return 20 * few if IS_FULL_RUN else few
