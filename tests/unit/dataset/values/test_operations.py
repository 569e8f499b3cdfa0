"""Operations and transactions: from users to what is stored, and back."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import DataFile, FragmentMetadata
from lance_core.dataset.values.index import Index, IndexFile
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.schema import LanceSchema
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions import operations as stored
from lance_core.table.transactions.transaction import Transaction as StoredTransaction
from tests.each_case import each_case

Op = lance.LanceOperation

FRAGMENT = FragmentMetadata(
    3, [DataFile("a.lance", [0, 1], [0, 1], 2, 0, 99, 5)], 10, None, b"\x08\x01"
)
SCHEMA = LanceSchema.from_pyarrow(pa.schema({"a": pa.int64(), "s": pa.struct({"x": pa.string()})}))
INDEX = Index(
    str(uuid4()),
    "of a",
    [0],
    4,
    frozenset({1, 70_000}),
    2,
    datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC),
    1,
    [IndexFile("part", 12)],
    ("/lance.index.pb.BTree", b"\x01"),
    [1],
)

OPERATIONS = [
    Op.Append([FRAGMENT]),
    Op.Overwrite(SCHEMA, [FRAGMENT], [lance.DatasetBasePath("memory://x", "n", True, 5)]),
    Op.Overwrite(SCHEMA, []),
    Op.Delete([FRAGMENT], [1, 2], "a > 1"),
    Op.Update([1], [FRAGMENT], [FRAGMENT], [0], [1], "rewrite_rows", {3: b"bits"}),
    Op.Update(update_mode="rewrite_columns"),
    Op.Merge([FRAGMENT], SCHEMA, True),
    Op.Restore(7),
    Op.Clone(True, "branch", 3, "memory://source", None),
    Op.Rewrite(
        [Op.RewriteGroup([FRAGMENT], [FRAGMENT])],
        [Op.RewrittenIndex(str(uuid4()), str(uuid4()), "/of.Nobody", b"x", 3)],
    ),
    Op.CreateIndex([INDEX], [Index(str(uuid4()), "", [], 0, None, 0)]),
    Op.DataReplacement([Op.DataReplacementGroup(3, FRAGMENT.files[0])]),
    Op.Project(SCHEMA, True),
    Op.UpdateConfig(),
    Op.UpdateConfig(
        Op.UpdateMap({"a": "b", "c": None}),
        Op.UpdateMap({}, True),
        Op.UpdateMap({"d": "e"}),
        {1: Op.UpdateMap({"f": "g"}, True)},
    ),
    Op.Stored(stored.ReserveFragments(5)),
    Op.Stored(stored.UpdateBases((BasePath(1, "memory://x"),))),
]


@each_case("operation", OPERATIONS, ids=lambda operation: type(operation).__name__)
def test_an_operation_comes_back_from_the_history_as_it_was(operation: Op.BaseOperation) -> None:
    given = lance.Transaction(5, operation, "name", {"p": "q"})
    data = given.to_stored().to_bytes()
    read = lance.Transaction.of(StoredTransaction.from_bytes(data))
    assert read == given
    assert read.to_stored().to_bytes() == data
    assert pickle.loads(pickle.dumps(given)) == given


@each_case(
    "make",
    [
        lambda: Op.Append([1]),  # type: ignore[list-item]
        lambda: Op.Delete([1], [], ""),  # type: ignore[list-item]
        lambda: Op.Delete([], [], None).to_stored(),  # type: ignore[arg-type]
        lambda: Op.Update([], [], [1]),  # type: ignore[list-item]
        lambda: Op.Merge([1], SCHEMA),  # type: ignore[list-item]
        lambda: Op.Rewrite([Op.RewriteGroup([FRAGMENT], [1])], []),  # type: ignore[list-item]
        lambda: Op.Project("a").to_stored(),  # type: ignore[arg-type]
        lambda: Op.Overwrite("a", []).to_stored(),
        lambda: Op.Overwrite(SCHEMA, [], ["x"]).to_stored(),  # type: ignore[list-item]
        lambda: Op.UpdateMap({"a": 1}).to_stored(),  # type: ignore[dict-item]
        lambda: Op.UpdateMap({1: "a"}).to_stored(),  # type: ignore[dict-item]
        lambda: lance.Transaction(1, 5).to_stored(),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_another_type_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(TypeError):
        make()


@each_case(
    "operation",
    [
        Op.Update(update_mode="elsewhere"),
        Op.Restore(0),
        Op.Restore(-1),
        Op.Restore(1 << 64),
        Op.Clone(True, None, 0, "x", None),
        Op.CreateIndex([Index("?", "i", [0], 1, {0}, 1)], []),
        Op.CreateIndex([Index(str(uuid4()), "i", [0], 1, {-1}, 1)], []),
        Op.CreateIndex([Index(str(uuid4()), "i", [0], 1, {0}, 1, datetime(2026, 1, 1))], []),
        Op.Rewrite([], [Op.RewrittenIndex("?", "?", "", b"", 0)]),
    ],
)
def test_values_that_the_format_cannot_hold_are_refused(operation: Op.BaseOperation) -> None:
    with pytest.raises(InvalidInputError):
        operation.to_stored()


@each_case(
    ("read_version", "name"),
    [
        ("1", "u"),
        (1.0, "u"),
        (True, "u"),
        (-1, "u"),
        (1 << 64, "u"),
        (1, ""),
        (1, None),
        (1, 5),
        (1, "../u"),
        (1, "u" * 129),
        (1, "u\n"),
    ],
)
def test_transactions_without_an_identity_are_refused(read_version: Any, name: Any) -> None:
    with pytest.raises(InvalidInputError):
        lance.Transaction(read_version, Op.Append([]), name).to_stored()


def test_text_that_is_no_utf_8_is_refused(uri: str) -> None:
    dataset = lance.write_dataset({"a": [1]}, uri)
    with pytest.raises(InvalidInputError, match="UTF-8"):
        dataset.update_config({"\ud800": "x"})
    with pytest.raises(InvalidInputError, match="UTF-8"):
        dataset.update_field_metadata({"a": {"x": "\ud800"}})
    with pytest.raises(InvalidInputError, match="UTF-8"):
        lance.LanceDataset.commit(uri, Op.Append([]), read_version=1, commit_message="\ud800")
    assert lance.dataset(uri).version == 1


def test_data_overlays_are_not_committed(uri: str) -> None:
    lance.write_dataset({"a": [1]}, uri)
    overlay = Op.DataOverlayFile(FRAGMENT.files[0], [0])
    operation = Op.DataOverlay([Op.DataOverlayGroup(0, [overlay])])
    with pytest.raises(UnsupportedFeatureError, match="overlay"):
        lance.LanceDataset.commit(uri, operation, read_version=1)
    assert lance.dataset(uri).version == 1


@each_case("given", [(5,), ("x", 5), ("x", None, False, -1), ("x", None, False, 1 << 32)])
def test_base_paths_that_make_no_sense_are_refused(given: tuple[object, ...]) -> None:
    with pytest.raises(InvalidInputError):
        lance.DatasetBasePath(*given)  # type: ignore[arg-type]


@pytest.mark.parametrize("properties", [{"a": 1}, {1: "a"}, 5])
def test_properties_of_a_transaction_are_text(uri: str, properties: object) -> None:
    lance.write_dataset({"a": [1]}, uri)
    given = lance.Transaction(1, Op.Append([]), "u", properties)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="transaction"):
        lance.LanceDataset.commit(uri, given)
    with pytest.raises(InvalidInputError, match="transaction"):
        lance.dataset(uri).add_bases([], properties)  # type: ignore[arg-type]
    assert lance.dataset(uri).version == 1
