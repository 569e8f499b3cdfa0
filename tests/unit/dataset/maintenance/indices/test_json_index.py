"""JSON indices: which values they have, which conditions they answer, and what they refuse."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.indices import IndexConfig
from lance_core.schema.json.path import field_names
from lance_core_indices.json.details import TARGETS, JsonDetails, parse_details
from tests.each_case import each_case


def table(docs: Sequence[Any], start: int = 0) -> pa.Table:
    texts = [one if one is None or isinstance(one, str) else json.dumps(one) for one in docs]
    return pa.table({"id": np.arange(start, start + len(docs)), "j": pa.array(texts, pa.json_())})


def indexed(
    path: Path, docs: Sequence[Any], field: str = "x", target: str = "btree", **more: Any
) -> lance_core.LanceDataset:
    dataset = lance_core.write_dataset(table(docs), path / "t", max_rows_per_file=3)
    dataset.create_scalar_index("j", "json", path=field, target_index_type=target, **more)
    return dataset


def ids(dataset: lance_core.LanceDataset, condition: str, **options: Any) -> list[int]:
    found: list[int] = dataset.to_table(["id"], filter=condition, **options)["id"].to_pylist()
    return found


def check(dataset: lance_core.LanceDataset, condition: str, *, searches: bool) -> None:
    """The index gives the rows of a scan, without a warning; ``searches``: the plan uses it."""
    plan = dataset.scanner(filter=condition).explain_plan(True)
    assert ("ScalarIndexQuery" in plan) is searches, plan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ids(dataset, condition)
    assert found == ids(dataset, condition, use_scalar_index=False), condition


@each_case(
    "docs, function, values",
    [
        ([None, {"x": 3}, {}, {"x": None}, {"x": -1}], "int", ["3", "-1"]),
        ([{"x": 0.5}, {"x": 2}, {"x": 1e300}], "float", ["0.5", "2"]),
        ([{"x": 2**63}, {"x": 2**63 - 1}], "float", ["9223372036854775808.0"]),
        ([{"x": 2**63 - 1}, {"x": -(2**63)}], "int", ["9223372036854775807"]),
        ([{"x": 1.0}, {"x": 2}], "float", ["1"]),
        ([{"x": "b"}, {"x": ""}, {"x": "7"}], "string", ["'b'", "''", "'7'"]),
        ([{"x": True}, {"x": False}, {"x": None}], "bool", ["true", "false"]),
        ([{}, None, [], 5, "5"], "int", ["1"]),
        ([], "string", ["'a'"]),
    ],
)
def test_the_first_value_determines_the_type(
    tmp_path: Path, docs: Any, function: str, values: Any
) -> None:
    dataset = indexed(tmp_path, docs)
    for value in values:
        for operator in ("=", "!=", "<", ">="):
            check(dataset, f"json_get_{function}(j, 'x') {operator} {value}", searches=bool(docs))
    check(dataset, f"json_get_{function}(j, 'x') IS NULL", searches=bool(docs))
    check(dataset, f"json_get_{function}(j, 'x') IS NOT NULL", searches=bool(docs))


@each_case(
    "docs, reason",
    [
        ([{"x": 1}, {"x": 0.5}], "int64 here, but one value is '0.5'"),
        ([{"x": 1}, {"x": "7"}], "int64 here"),
        ([{"x": "7"}, {"x": 1}], "string here"),
        ([{"x": True}, {"x": 1}], "bool here"),
        ([{"x": 1}, {"x": [1]}], r"one value is '\[1\]'"),
        ([{"x": {"a": 1}}], "no arrays and objects"),
        ([{"x": 1}, None, None, None, {"x": 2**64}], "int64 here"),
    ],
)
def test_values_of_several_types_are_refused(tmp_path: Path, docs: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        indexed(tmp_path, docs)
    assert not lance_core.dataset(tmp_path / "t").describe_indices()


def test_the_type_of_the_values_can_be_stated(tmp_path: Path) -> None:
    dataset = indexed(tmp_path, [{"x": 1}, {"x": 0.5}, {}], target_data_type="float")
    check(dataset, "json_get_float(j, 'x') < 0.75", searches=True)
    dataset.insert(table([{"x": 7}], 3))
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    dataset.optimize.optimize_indices(num_indices_to_merge=2)
    assert dataset.describe_indices()[0].details["target_data_type"] == "float"
    check(dataset, "json_get_float(j, 'x') > 0.75", searches=True)
    with pytest.raises(InvalidInputError, match="double here"):
        indexed(tmp_path / "text", [{"x": "1"}], target_data_type="float")


@each_case("target", ["btree", "bitmap", "zonemap", "bloomfilter"])
def test_another_type_in_the_condition_is_scanned(tmp_path: Path, target: str) -> None:
    docs = [{"x": 1}, {"x": 2}, {"x": None}, {"x": -1}]
    dataset = indexed(tmp_path, docs, target=target)
    for condition in ("json_get_float(j, 'x') = 1", "json_get_string(j, 'x') = '1'"):
        check(dataset, condition, searches=False)
    check(dataset, "json_get_float(j, 'x') > 1.5 AND json_get_int(j, 'x') IS NULL", searches=True)


@each_case("target", ["btree", "bitmap", "zonemap", "bloomfilter"])
def test_details_may_lack_the_type_of_the_values(tmp_path: Path, target: str) -> None:
    docs = [{"x": 1}, {"x": 2}, {"x": None}, {"x": -1}]
    dataset = indexed(tmp_path, docs, target=target)
    _without_type(dataset)
    for condition in (
        *("json_get_int(j, 'x') = 1", "json_get_int(j, 'x') IN (2, 5)"),
        *("json_get_int(j, 'x') IS NULL", "json_get_float(j, 'x') = 1"),
        *("json_get_string(j, 'x') = '1'", "json_get_string(j, 'x') = '1' OR id = 2"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ids(dataset, condition) == ids(dataset, condition, use_scalar_index=False)
    dataset.insert(table([{"x": 5}], 4))
    if target == "bloomfilter":
        with pytest.raises(UnsupportedFeatureError, match="does not state the type"):
            dataset.optimize.optimize_indices()
        dataset.optimize.optimize_indices(retrain=True)
    else:
        dataset.optimize.optimize_indices()
    check(dataset, "json_get_int(j, 'x') = 5", searches=True)


def _without_type(dataset: lance_core.LanceDataset) -> None:
    """Replace the index by one with the details that pylance writes."""
    from dataclasses import replace

    from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
    from lance_core.dataset.write.commit_change import commit_change
    from lance_core.table.indices.index_metadata import IndexDetails
    from lance_core.table.transactions.operations import CreateIndex

    (old,) = indices_of(dataset.snapshot)
    assert old.index_details is not None
    details = replace(parse_details(old.index_details.value), kind=None).to_bytes()
    new = replace(old, index_details=IndexDetails(old.index_details.type_url, details))
    commit_change(dataset.snapshot, CreateIndex((new,), (old,)))
    dataset.checkout_latest()


@each_case("target", ["btree", "bitmap", "zonemap", "bloomfilter"])
@each_case("before", [[], [{}, None, {"x": None}]])
def test_an_index_without_values_takes_the_type_of_later_ones(
    tmp_path: Path, target: str, before: Any
) -> None:
    dataset = indexed(tmp_path, before, target=target)
    if before:
        check(dataset, "json_get_float(j, 'x') = 1", searches=True)
        check(dataset, "json_get_int(j, 'x') IS NULL", searches=True)
    dataset.insert(table([{"x": 5}, {"x": None}], len(before)))
    dataset.optimize.optimize_indices()
    assert dataset.stats.index_stats("j_idx")["num_unindexed_rows"] == 0
    check(dataset, "json_get_int(j, 'x') = 5", searches=True)
    check(dataset, "json_get_int(j, 'x') IS NULL", searches=True)
    dataset.insert(table([{}, None], 9))
    dataset.optimize.optimize_indices()
    check(dataset, "json_get_int(j, 'x') IS NULL", searches=True)
    dataset.insert(table([{"x": "7"}], 20))
    with pytest.raises(InvalidInputError, match="int64 here"):
        dataset.optimize.optimize_indices()
    check(dataset, "json_get_int(j, 'x') = 5 AND id < 20", searches=True)


@each_case(
    "path, value",
    [
        ("x", "json_get_int(j, 'x')"),
        ("$.x", "json_get_int(j, 'x')"),
        (" x ", "json_get_int(j, 'x')"),
        ("$.a.b", "json_get_int(json_get(j, 'a'), 'b')"),
        ('$."c.d"', "json_get_int(j, 'c.d')"),
        ('$["c.d"]', "json_get_int(j, 'c.d')"),
    ],
)
def test_paths_of_names_answer_the_fields_that_they_name(
    tmp_path: Path, path: str, value: str
) -> None:
    docs = [{"x": 1, "a": {"b": 5}, "c.d": 7}, {"x": 2, "a": {"b": 6}, "c.d": 1}, [{"x": 1}], {}]
    dataset = indexed(tmp_path, docs, path)
    check(dataset, f"{value} >= 2 AND {value} < 7", searches=True)
    check(dataset, f"NOT ({value} = 1 OR {value} = 5)", searches=True)
    check(dataset, f"{value} IS NULL", searches=True)


@each_case("path", ["l[0]", "a.*", "0", "$", "a.b"])
def test_other_paths_answer_nothing(tmp_path: Path, path: str) -> None:
    docs: list[Any] = [{"l": [4, 5], "a": {"b": 5}, path: 3, "0": 1}, {"l": [9]}]
    dataset = indexed(tmp_path, [5, 7] if path == "$" else docs, path)
    check(dataset, f"json_get_int(j, '{path}') > 1", searches=False)
    check(dataset, "json_get_int(j, '0') > 1", searches=False)


def test_a_path_of_several_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="matches several values"):
        indexed(tmp_path, [{"l": [4, 5]}], "$.l[*]")


@each_case(
    "parameters, reason",
    [
        ({}, "needs the parameter path"),
        ({"path": 3, "target_index_type": "btree"}, "needs the parameter path"),
        ({"path": "x"}, "needs the parameter target_index_type"),
        ({"path": "x", "target_index_type": "label_list"}, "one of btree, bitmap"),
        ({"path": "x", "target_index_type": "inverted"}, "one of btree, bitmap"),
        ({"path": "x[", "target_index_type": "btree"}, "invalid JSON path"),
        ({"path": "x", "target_index_type": "btree", "size": 3}, "no parameter 'size'"),
        (
            {"path": "x", "target_index_type": "btree", "target_index_parameters": "["},
            "must be a dict",
        ),
        (
            {"path": "x", "target_index_type": "btree", "target_index_parameters": {"size": 1}},
            "'size'",
        ),
        ({"path": "x", "target_index_type": "btree", "target_data_type": "text"}, "one of bool"),
        ({"path": "x", "target_index_type": "ngram"}, "does not accept"),
    ],
)
def test_wrong_parameters_are_refused(tmp_path: Path, parameters: Any, reason: str) -> None:
    dataset = lance_core.write_dataset(table([{"x": 1}]), tmp_path / "t")
    with pytest.raises(InvalidInputError, match=reason):
        dataset.create_scalar_index("j", IndexConfig("json", parameters))


def test_parameters_of_the_index_over_values_are_kept(tmp_path: Path) -> None:
    docs = [{"x": n} for n in range(9)]
    dataset = indexed(tmp_path, docs, target_index_parameters='{"zone_size": 2}')
    for _ in range(2):
        assert dataset.stats.index_stats("j_idx")["indices"][0]["num_pages"] == 5
        dataset.optimize.optimize_indices(retrain=True)


def test_only_json_columns_are_accepted(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(pa.table({"j": ["{}"]}), tmp_path / "t")
    with pytest.raises(InvalidTypeError, match="Json"):
        dataset.create_scalar_index("j", "json", path="x", target_index_type="btree")


@each_case("target", list(TARGETS))
def test_tables_with_stable_row_ids(tmp_path: Path, target: str) -> None:
    rows = table([{"x": "abc"}, {"x": "abd"}])
    dataset = lance_core.write_dataset(rows, tmp_path / "t", enable_stable_row_ids=True)
    options = {"path": "x", "target_index_type": target}
    if target in ("zonemap", "bloomfilter"):
        with pytest.raises(UnsupportedFeatureError, match="stable row ids"):
            dataset.create_scalar_index("j", "json", **options)
        return
    dataset.create_scalar_index("j", "json", **options)
    dataset.update({"id": "id + 10"}, where="id = 0")
    assert dataset.stats.index_stats("j_idx")["num_unindexed_rows"] == 0
    check(dataset, "contains(json_get_string(j, 'x'), 'abc')", searches=target == "ngram")
    check(dataset, "json_get_string(j, 'x') = 'abc'", searches=target != "ngram")


def test_details_of_other_types_are_not_used(tmp_path: Path) -> None:
    stored = JsonDetails("x", TARGETS["btree"]).to_bytes()
    for details in (
        stored.replace(b"BTreeIndexDetails", b"OtherIndexDetail_"),
        stored + b"\x18\x05",
    ):
        with pytest.raises(UnsupportedFeatureError):
            parse_details(details)


def test_field_names() -> None:
    assert field_names("a") == ("a",)
    assert field_names('$.a."b c"["d"]') == ("a", "b c", "d")
    for path in ("", "$", "a[0]", "a.*", "a[*]", "a..b", "$.", "a b"):
        assert field_names(path) is None, path
