"""A file that cannot hold what it claims gives an error soon, and before memory is used."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import LanceError
from tests.bombs.claims import CLAIMS
from tests.bombs.limits import limited
from tests.golden.reading import column, opened

MOST_FILE_BYTES = 1 << 20


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_without_bytes_is_an_error(name: str) -> None:
    raw = CLAIMS[name]()
    assert len(raw) < MOST_FILE_BYTES
    with limited():
        with pytest.raises(LanceError):
            column(opened(raw))
        for rows in (RowRange(0, 1), RowIndices(np.array([0]))):
            with suppress(LanceError):
                column(opened(raw), rows)
