"""Tables with indices whose plugin is not installed: read in full, and their indices stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.cli import main
from lance_core.errors import PluginNotFoundError, UnsupportedFeatureError
from lance_core.plugins import manager as managers
from lance_core.plugins.known_plugins import KNOWN_PLUGINS
from lance_core.plugins.loading import InstalledPlugins, PluginLoadFailure
from lance_core.plugins.manager import PluginManager
from lance_core_cli import plugin as cli
from lance_core_compaction import plugin as compaction
from lance_core_functions import plugin as functions
from lance_core_indices.plugin import SCALAR_TYPES
from tests.each_case import each_case

ROWS = 300
PIP = 'pip install "lance-core[indices]"'
JSON = {"path": "n", "target_index_type": "btree"}
INDICES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "i_btree": ("i", "BTREE", {}),
    "i_zones": ("i", "ZONEMAP", {"rows_per_zone": 16}),
    "c_bitmap": ("c", "BITMAP", {}),
    "c_bloom": ("c", "BLOOMFILTER", {}),
    "l_labels": ("l", "LABEL_LIST", {}),
    "s_ngram": ("s", "NGRAM", {}),
    "j_json": ("j", "JSON", JSON),
}
FILTERS = [
    "i = 7",
    "i BETWEEN 95 AND 210",
    "c = 'c3'",
    "array_has(l, 11)",
    "contains(s, 'text 12')",
    "json_get_int(j, 'n') = 5",
    "i > 250 AND c IN ('c1', 'c2', 'changed')",
    "c IS NULL",
]


def rows(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "c": [None if n % 50 == 0 else f"c{n % 7}" for n in numbers],
            "l": [[n, n + 1] for n in numbers],
            "s": [f"text {n}" for n in numbers],
            "j": pa.array([f'{{"n": {n % 9}}}' for n in numbers], pa.json_()),
            "other": pa.array(numbers, pa.int64()),
        }
    )


@contextmanager
def no_plugins() -> Iterator[None]:
    """As in an environment without the plugins of indices."""
    with pytest.MonkeyPatch.context() as patch:
        manager = PluginManager(entry_points=False)
        for plugin in (cli, compaction, functions):
            manager.register(plugin)
        patch.setattr(managers, "_manager", manager)
        yield


@pytest.fixture
def without() -> Iterator[None]:
    with no_plugins():
        yield


@pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
def uri(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A table in three fragments with an index of each type."""
    is_stable = bool(request.param)
    dataset = lance.write_dataset(
        rows(0, ROWS),
        tmp_path / "t.lance",
        max_rows_per_file=100,
        enable_stable_row_ids=is_stable,
        storage_options={"durability": "fast"},
    )
    for name, (column, kind, parameters) in INDICES.items():
        dataset.create_scalar_index(column, kind, name=name, **parameters)
    return str(tmp_path / "t.lance")


def answers(uri: str) -> dict[str, list[int]]:
    """What each filter finds."""
    dataset = lance.dataset(uri)
    found = {text: dataset.to_table(columns=["i"], filter=text) for text in FILTERS}
    return {text: sorted(table["i"].to_pylist()) for text, table in found.items()}


def scanned(uri: str) -> dict[str, list[int]]:
    """The same, without indices."""
    dataset = lance.dataset(uri)
    found = {}
    for text in FILTERS:
        table = dataset.to_table(columns=["i"], filter=text, use_scalar_index=False)
        found[text] = sorted(table["i"].to_pylist())
    return found


def uuids(uri: str) -> dict[str, list[str]]:
    described = lance.dataset(uri).describe_indices()
    return {one.name: [segment.uuid for segment in one.segments] for one in described}


def append(dataset: lance.LanceDataset) -> None:
    lance.write_dataset(rows(ROWS, 20), dataset, mode="append")


def update(dataset: lance.LanceDataset) -> None:
    dataset.update({"c": "'changed'"}, where="i % 10 = 3")


def merge(dataset: lance.LanceDataset) -> None:
    builder = dataset.merge_insert("i").when_matched_update_all().when_not_matched_insert_all()
    builder.execute(rows(ROWS - 5, 10).set_column(1, "c", pa.array(["changed"] * 10)))


def merge_columns(dataset: lance.LanceDataset) -> None:
    builder = dataset.merge_insert("i").when_matched_update_all()
    builder.execute(pa.table({"i": [3, 150], "c": ["changed", "changed"]}))


def compact(dataset: lance.LanceDataset) -> None:
    """Of the fragments that indices cover none moves; the rows that were added later do."""
    with pytest.warns(UserWarning, match="3 fragments are not compacted") as caught:
        dataset.optimize.compact_files()
    (text,) = {str(one.message) for one in caught}
    assert text.endswith(f": {PIP}")
    fragments = lance.dataset(dataset.uri).get_fragments()
    assert [fragment.fragment_id for fragment in fragments][:3] == [0, 1, 2]
    assert len(fragments) == 4


VERBS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "append": append,
    "delete": lambda dataset: dataset.delete("i % 7 = 2"),
    "update": update,
    "merge": merge,
    "merge of some columns": merge_columns,
    "add a column": lambda dataset: dataset.add_columns({"twice": "i * 2"}),
    "compaction": compact,
}
DEFERRED: dict[str, Callable[[lance.LanceDataset], object]] = {
    "deferred compaction": lambda dataset: dataset.optimize.compact_files(defer_index_remap=True),
}
"""With stable row ids, there is nothing to defer."""


def test_a_filter_finds_the_same_rows_without_a_warning(uri: str) -> None:
    expected = answers(uri)
    assert all(expected.values())
    with no_plugins():
        assert answers(uri) == expected


def test_indices_stay_and_answer_right_after_each_change_without_the_plugin(uri: str) -> None:
    before = uuids(uri)
    verbs = VERBS if lance.dataset(uri).has_stable_row_ids else VERBS | DEFERRED
    for verb, change in verbs.items():
        with no_plugins():
            change(lance.dataset(uri))
            after = answers(uri)
            assert uuids(uri) == before, verb
        assert after == scanned(uri) == answers(uri), verb
    assert "@c_bitmap" in lance.dataset(uri).scanner(filter="c = 'c3'").explain_plan()
    with no_plugins():
        lance.dataset(uri, version=2).restore()
        assert uuids(uri) == {"i_btree": before["i_btree"]}


def test_indices_with_row_ids_follow_a_compaction_without_the_plugin(uri: str) -> None:
    if not lance.dataset(uri).has_stable_row_ids:
        return
    for name in ("i_btree", "i_zones", "c_bloom"):  # have addresses
        lance.dataset(uri).drop_index(name)
    with no_plugins():
        lance.dataset(uri).delete("i % 40 = 1")
        lance.dataset(uri).optimize.compact_files()
        after = answers(uri)
    dataset = lance.dataset(uri)
    assert len(dataset.get_fragments()) == 1
    assert after == scanned(uri) == answers(uri)
    assert all(one.num_rows_indexed == dataset.count_rows() for one in dataset.describe_indices())


def test_the_last_column_of_an_index_takes_the_index_along(uri: str, without: None) -> None:
    lance.dataset(uri).drop_columns(["c"])
    assert {"c_bitmap", "c_bloom"} == INDICES.keys() - uuids(uri).keys()


def test_indices_without_their_plugin_are_listed_as_unknown(uri: str) -> None:
    known = lance.dataset(uri).describe_indices()
    with no_plugins():
        unknown = lance.dataset(uri).describe_indices()
        listed = lance.dataset(uri).list_indices()
    assert [one.name for one in known] == [one.name for one in unknown] == sorted(INDICES)
    assert {one.index_type for one in unknown} == {one["type"] for one in listed} == {"Unknown"}
    for one, other in zip(known, unknown, strict=True):
        assert (one.type_url, one.num_rows_indexed) == (other.type_url, other.num_rows_indexed)
        assert one.segments == other.segments
        assert one.index_type != "Unknown"


def test_a_plan_says_which_extra_would_use_an_index(uri: str) -> None:
    with no_plugins():
        dataset = lance.dataset(uri)
        plan = dataset.scanner(filter="i = 7 AND other < 9").explain_plan()
        assert plan.count(f"unused_indices=[i_btree, i_zones: {PIP}]") == 1
        assert "ScalarIndexQuery" not in plan
        analyzed = dataset.scanner(filter="c = 'c1'", columns=["other"]).analyze_plan()
        assert f"unused_indices=[c_bitmap, c_bloom: {PIP}], metrics=[" in analyzed
        for options in (
            {"filter": "other = 7"},
            {},
            {"filter": "i = 7", "use_scalar_index": False},
        ):
            assert "unused_indices" not in dataset.scanner(**options).explain_plan()
    assert "unused_indices" not in lance.dataset(uri).scanner(filter="i = 7").explain_plan()


def test_a_plan_names_a_plugin_that_is_disabled(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager(environ={"LANCE_CORE_DISABLE_PLUGINS": "indices"})
    monkeypatch.setattr(managers, "_manager", manager)
    plan = lance.dataset(uri).scanner(filter="i = 7").explain_plan()
    disabled = "lance-core-indices is disabled by LANCE_CORE_PLUGINS or LANCE_CORE_DISABLE_PLUGINS"
    assert f"unused_indices=[i_btree, i_zones: {disabled}]" in plan


def test_a_plan_names_a_plugin_that_cannot_be_loaded(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = PluginLoadFailure("indices", "lance-core-indices 0.1.0", ImportError("no disk"))
    left_out = InstalledPlugins(failures=(failure,))
    monkeypatch.setattr(managers, "installed_plugins", lambda environ: left_out)
    monkeypatch.setattr(managers, "_manager", PluginManager())
    dataset = lance.dataset(uri)
    reason = "failed to load: 'indices' of lance-core-indices 0.1.0 (ImportError: no disk)"
    assert f"i_zones: {reason}]" in dataset.scanner(filter="i = 7").explain_plan()
    with pytest.raises(PluginNotFoundError, match=r"ImportError: no disk"):
        dataset.create_scalar_index("i", "BTREE", name="other")


@each_case("kind", ["BTREE", "bitmap", "LABEL_LIST", "LabelList", "Bloom_Filter", "json", "NGram"])
def test_a_new_index_names_the_extra_that_has_its_type(uri: str, without: None, kind: str) -> None:
    dataset = lance.dataset(uri)
    with pytest.raises(PluginNotFoundError) as raised:
        dataset.create_scalar_index("i", kind, replace=True)
    assert str(raised.value).startswith(f"no plugin provides an index type '{kind}'. {PIP}. ")
    with pytest.raises(PluginNotFoundError, match="lance-core"):
        dataset.create_index_uncommitted("i", kind, name="new", fragment_ids=[0])
    assert dataset.version == lance.dataset(uri).version


def test_a_misspelt_and_an_unknown_type_are_unsupported(uri: str, without: None) -> None:
    dataset = lance.dataset(uri)
    with pytest.raises(UnsupportedFeatureError, match="nearest name is 'btree'") as raised:
        dataset.create_scalar_index("i", "BTREEE")
    assert PIP in str(raised.value)
    with pytest.raises(UnsupportedFeatureError, match="not built yet"):
        dataset.create_scalar_index("s", "RTREE")


def test_what_needs_the_type_names_the_extra(uri: str, without: None) -> None:
    dataset = lance.dataset(uri)
    append(dataset)
    dataset = lance.dataset(uri)
    with pytest.warns(UserWarning, match="'i_btree' is not optimized") as caught:
        dataset.optimize.optimize_indices(index_names=["i_btree"])
    assert str(caught[0].message).endswith(PIP)
    with pytest.raises(UnsupportedFeatureError, match="lance-core"):
        dataset.prewarm_index("i_btree")
    assert dataset.stats.index_stats("i_btree")["num_unindexed_rows"] == 20
    dataset.drop_index("i_btree")
    assert "i_btree" not in uuids(uri)


def test_the_command_line_names_the_extra(
    uri: str, without: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["indices", uri]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"its version is not known: {PIP}") == len(INDICES)


def test_the_names_and_details_of_types_are_those_of_the_plugin(without: None) -> None:
    (known,) = [plugin for plugin in KNOWN_PLUGINS if plugin.extra == "indices"]
    assert sorted(spec.name.replace("_", "") for spec in SCALAR_TYPES) == sorted(known.index_types)
    manager = managers.get_manager()
    assert {manager.missing_index_type(spec.details_url) for spec in SCALAR_TYPES} == {PIP}
    of_vectors = manager.missing_index_type("/lance.index.pb.VectorIndexDetails")
    assert of_vectors == PIP.replace("indices", "vector")
    assert manager.missing_index_type("/of.Nobody") is None
