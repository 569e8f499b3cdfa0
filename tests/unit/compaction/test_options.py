"""Options of compactions: where they come from, and which are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import lance_core as lance
from lance_core.errors import CompactionError, InvalidInputError, UnsupportedFeatureError
from lance_core_compaction.options import (
    CompactionMode,
    CompactionSettings,
    settings_from_json,
    settings_to_json,
)
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import planned, table_of


@pytest.fixture
def dataset(uri: str) -> lance.LanceDataset:
    return table_of(uri, [10] * 6)


def test_an_argument_comes_before_the_config_and_the_config_before_the_default(
    dataset: lance.LanceDataset,
) -> None:
    assert planned(dataset, {}) == [[0, 1, 2, 3, 4, 5]]
    dataset.update_config({"lance.compaction.target_rows_per_fragment": "20"})
    assert planned(dataset, {}) == [[0, 1], [2, 3], [4, 5]]
    assert planned(dataset, {"target_rows_per_fragment": 30}) == [[0, 1, 2], [3, 4, 5]]


def test_every_option_that_the_config_may_hold_is_read_from_it(dataset: lance.LanceDataset) -> None:
    texts = {
        "target_rows_per_fragment": "7",
        "max_rows_per_group": "8",
        "max_bytes_per_file": "9",
        "materialize_deletions": "FALSE",
        "materialize_deletions_threshold": "1e-1",
        "batch_size": "10",
        "compaction_mode": "try_binary_copy",
        "binary_copy_read_batch_bytes": "11",
        "defer_index_remap": "True",
        "max_source_fragments": "12",
        "max_source_rows": "13",
        "max_source_bytes": "14",
        "data_storage_version": "stable",
        "num_threads": "not read from the config",
        "of_a_later_release": "ignored",
    }
    dataset.update_config({f"lance.compaction.{name}": text for name, text in texts.items()})
    assert CompactionSettings.of(dataset.snapshot, {}) == CompactionSettings(
        target_rows_per_fragment=7,
        max_rows_per_group=8,
        max_bytes_per_file=9,
        materialize_deletions=False,
        materialize_deletions_threshold=0.1,
        batch_size=10,
        compaction_mode=CompactionMode.TRY_BINARY_COPY,
        binary_copy_read_batch_bytes=11,
        defer_index_remap=True,
        max_source_fragments=12,
        max_source_rows=13,
        max_source_bytes=14,
        data_storage_version="2.2",
    )


BAD: list[tuple[Any, type[Exception], str]] = [
    ({"foo": 1}, InvalidInputError, "Invalid compaction option: 'foo'"),
    ({"target_rows": 1}, InvalidInputError, "did you mean"),
    (None, TypeError, "a dict, got NoneType"),
    ({"target_rows_per_fragment": "x"}, TypeError, "target_rows_per_fragment must be a whole"),
    ({"target_rows_per_fragment": True}, TypeError, "whole number"),
    ({"target_rows_per_fragment": -1}, InvalidInputError, "from 0"),
    ({"num_threads": 0}, InvalidInputError, "num_threads must be greater than 0"),
    ({"batch_size": 0}, InvalidInputError, "batch_size must be greater than 0"),
    ({"materialize_deletions": 1}, TypeError, "True or False"),
    ({"materialize_deletions_threshold": "0.1"}, TypeError, "a number"),
    ({"materialize_deletions_threshold": float("nan")}, InvalidInputError, "a number"),
    ({"compaction_mode": "x"}, ValueError, "Invalid compaction mode 'x'"),
    ({"compaction_mode": 3}, TypeError, "compaction_mode must be text"),
    ({"excluded_fragment_ids": "12"}, TypeError, "a list of fragment ids"),
    ({"excluded_fragment_ids": [-1]}, InvalidInputError, "from 0"),
    ({"max_source_fragments": 0}, OSError, "max_source_fragments must be greater than 0"),
    ({"max_source_rows": 0}, OSError, "greater than 0"),
    ({"max_source_bytes": 0}, OSError, "greater than 0"),
    ({"data_storage_version": "9"}, ValueError, "unknown file version"),
    ({"data_storage_version": 2.1}, TypeError, "data_storage_version must be text"),
    ({"data_storage_version": "next"}, UnsupportedFeatureError, "2.3"),
    ({"data_storage_version": "legacy"}, OSError, "0.1 does not mix"),
]


def test_invalid_options_are_refused_before_anything_is_written(
    dataset: lance.LanceDataset,
) -> None:
    for options, kind, text in BAD:
        with pytest.raises(kind, match=text):
            lance.optimize.Compaction.execute(dataset, options)
    assert lance.dataset(dataset.uri).version == dataset.version


@each_case(
    "name, text",
    [
        ("target_rows_per_fragment", "x"),
        ("target_rows_per_fragment", " 1"),
        ("batch_size", "-1"),
        ("binary_copy_read_batch_bytes", "1.5"),
        ("materialize_deletions", "1"),
        ("materialize_deletions_threshold", "x"),
        ("compaction_mode", "q"),
        ("data_storage_version", "9"),
    ],
)
def test_an_invalid_value_in_the_config_is_named(tmp_path: Any, name: str, text: str) -> None:
    dataset = table_of(str(tmp_path / "t"), [1])
    dataset.update_config({f"lance.compaction.{name}": text})
    with pytest.raises(InvalidInputError, match=f"lance.compaction.{name}"):
        planned(dataset, {})


def test_an_unknown_argument_is_a_type_error(dataset: lance.LanceDataset) -> None:
    with pytest.raises(TypeError, match="did you mean 'target_rows_per_fragment'"):
        dataset.optimize.compact_files(target_rows_per_fragments=1)  # type: ignore[call-arg]


def test_the_older_switches_of_binary_copy_warn_and_select_a_mode(
    dataset: lance.LanceDataset,
) -> None:
    with pytest.warns(DeprecationWarning, match="enable_binary_copy is deprecated"):
        settings = CompactionSettings.of(dataset.snapshot, {"enable_binary_copy": True})
    assert settings.compaction_mode is CompactionMode.TRY_BINARY_COPY
    with pytest.warns(DeprecationWarning, match="enable_binary_copy_force is deprecated"):
        settings = CompactionSettings.of(dataset.snapshot, {"enable_binary_copy_force": True})
    assert settings.compaction_mode is CompactionMode.FORCE_BINARY_COPY


def test_a_table_of_version_0_1_keeps_its_version(uri: str) -> None:
    dataset = table_of(uri, [1, 1], data_storage_version="legacy")
    with pytest.raises(CompactionError, match=r"0\.1 does not mix"):
        planned(dataset, {"data_storage_version": "2.0"})
    assert planned(dataset, {}) == [[0, 1]]


def test_deferred_remaps_are_refused_with_stable_row_ids(uri: str) -> None:
    dataset = table_of(uri, [1, 1], enable_stable_row_ids=True)
    with pytest.raises(OSError, match="without stable row ids"):
        dataset.optimize.compact_files(defer_index_remap=True)


def test_settings_survive_the_way_through_json() -> None:
    settings = CompactionSettings(
        target_rows_per_fragment=3,
        excluded_fragment_ids=(4, 2),
        compaction_mode=CompactionMode.FORCE_BINARY_COPY,
        max_source_rows=5,
        data_storage_version="2.1",
        verify_pages=True,
    )
    assert settings_from_json(settings_to_json(settings)) == settings
    with pytest.raises(InvalidInputError, match="unknown compaction mode"):
        settings_from_json({"compaction_mode": "Guess"})


def test_json_has_the_other_options_of_pylance_with_their_defaults() -> None:
    tree = settings_to_json(CompactionSettings())
    own = {field.name for field in dataclasses.fields(CompactionSettings)}
    assert {name: value for name, value in tree.items() if name not in own} == {
        "index_remap_mode": "Direct",
        "enable_binary_copy": False,
        "enable_binary_copy_force": False,
        "max_overlays_per_fragment": 10,
        "has_eager_remappable_index": None,
    }
