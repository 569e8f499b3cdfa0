"""The stored tables and names of pylance are those of the pylance that is installed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lance
import pytest

from lance_core._pb import transaction_pb2
from lance_core.table.manifest.file import parse_manifest_file
from tests.golden import pylance_names
from tests.golden.pylance_tables import TABLES, unpacked, written


def versions(root: Path) -> list[tuple[str | None, int, list[str]]]:
    """The operation, number of fragments and fields of each version."""
    described = []
    for path in sorted((root / "_versions").glob("*.manifest"), reverse=True):
        file = parse_manifest_file(path.read_bytes())
        transaction = transaction_pb2.Transaction.FromString(file.transaction or b"")
        fields = [field.name for field in file.manifest.schema.to_proto()]
        described.append(
            (transaction.WhichOneof("operation"), len(file.manifest.fragments), fields)
        )
    return described


@pytest.mark.parametrize("name", TABLES)
def test_a_stored_table_has_the_history_that_pylance_writes(name: str, tmp_path: Path) -> None:
    stored, new = unpacked(name, tmp_path / "stored"), written(name, tmp_path / "new")
    assert versions(stored) == versions(new)
    assert lance.dataset(stored).to_table().equals(lance.dataset(new).to_table())
    # Names are random, and few data files have the same length each time.
    kinds = [Counter(path.suffix for path in root.rglob("*.*")) for root in (stored, new)]
    assert kinds[0] == kinds[1]


def test_the_stored_names_are_those_of_pylance() -> None:
    assert pylance_names.stored() == pylance_names.of_installed()
