"""Rows on disk: errors of the temporary folder."""

from __future__ import annotations

import pytest

from lance_core.errors import StoreError
from lance_core.store.temporary_folder import spill_errors


def test_an_error_of_the_folder_is_described_once() -> None:
    error = OSError(28, "No space left on device")
    with pytest.raises(StoreError) as raised, spill_errors(), spill_errors():
        raise error
    assert raised.value.__cause__ is error
    assert str(raised.value).count("temporary folder") == 1


def test_an_error_of_a_store_is_raised_as_it_is() -> None:
    error = StoreError("the connection is closed")
    with pytest.raises(StoreError) as raised, spill_errors():
        raise error
    assert raised.value is error
