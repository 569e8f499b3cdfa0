"""Content that may name files is told from bytes that are only unusual."""

from __future__ import annotations

import pytest

from lance_core._pb import table_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.manifest.unknown_content import check_fragment_understood

RAW = table_pb2.DataFragment(id=1, physical_rows=10, files=[{"path": "a"}]).SerializeToString()
UNKNOWN = bytes.fromhex("fa07036e6577")
"""Field 127, three bytes."""


def test_a_fragment_in_an_unusual_encoding_is_understood() -> None:
    rows = table_pb2.DataFragment(physical_rows=10).SerializeToString()
    for raw in (RAW, RAW + rows):
        assert table_pb2.DataFragment.FromString(raw).physical_rows == 10
        check_fragment_understood(raw)


@pytest.mark.parametrize(
    "raw",
    [
        RAW + UNKNOWN,
        RAW
        + table_pb2.DataFragment(
            files=[table_pb2.DataFile.FromString(UNKNOWN)]
        ).SerializeToString(),
    ],
)
def test_unknown_content_at_any_depth_is_refused(raw: bytes) -> None:
    with pytest.raises(UnsupportedFeatureError, match="DataFragment"):
        check_fragment_understood(raw)
