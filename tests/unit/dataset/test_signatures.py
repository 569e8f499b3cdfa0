"""What `help`, editors and type checkers see: every argument by name, with type and default."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import pytest

import lance_core as lance
from lance_core.dataset import optimize
from lance_core.dataset.write.write import write_fragments

TABLE = lance.LanceDataset
FRAGMENT = lance.LanceFragment

FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (lance.dataset, {"session": None, "commit_lock": None, "base_store_params": None}),
    (lance.write_dataset, {"max_rows_per_file": 1048576, "merge_schema": False}),
    (write_fragments, {"data_storage_version": None}),
    (TABLE.scanner, {"limit": None, "order_by": None, "fragments": None}),
    (TABLE.to_table, {"limit": None, "nearest": None, "full_text_query": None}),
    (TABLE.to_batches, {"batch_size": None}),
    (TABLE.to_pandas, {"types_mapper": None, "blob_mode": "lazy"}),
    (TABLE.head, {"filter": None}),
    (TABLE.count_rows, {"use_scalar_index": None}),
    (TABLE.insert, {"mode": "append", "max_bytes_per_file": 96636764160}),
    (TABLE.commit, {"detached": False, "max_retries": 20}),
    (TABLE.cleanup_old_versions, {"delete_rate_limit": None}),
    (TABLE.deep_clone, {"session": None}),
    (FRAGMENT.to_table, {"with_row_id": False}),
    (FRAGMENT.create, {"progress": None}),
    (optimize.DatasetOptimizer.compact_files, {"target_rows_per_fragment": None}),
]


@pytest.mark.parametrize(("function", "defaults"), FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_arguments_are_known_by_name(
    function: Callable[..., Any], defaults: dict[str, Any]
) -> None:
    signature = inspect.signature(function)
    assert not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    shown = {name: signature.parameters[name].default for name in defaults}
    assert shown == defaults
    for parameter in signature.parameters.values():
        assert parameter.annotation is not parameter.empty or parameter.name in {"self", "cls"}
    assert all(name in pydoc.render_doc(function) for name in defaults)


def test_a_bound_method_has_the_same_arguments_but_for_itself(tmp_path: Any) -> None:
    dataset = lance.write_dataset([{"a": 1}], tmp_path)
    names = list(inspect.signature(dataset.to_table).parameters)
    assert ["self", *names] == list(inspect.signature(TABLE.to_table).parameters)
    assert inspect.unwrap(TABLE.to_table).__name__ == "to_table"


def test_no_public_method_hides_its_arguments() -> None:
    hidden = [
        f"{each.__name__}.{name}"
        for each in (TABLE, FRAGMENT, lance.MergeInsertBuilder)
        for name, member in inspect.getmembers(each, callable)
        if not name.startswith("_") and not inspect.isclass(member)
        if name not in {"join_asof", "sort_by"}  # those of Arrow, which are not supported
        for parameter in inspect.signature(member).parameters.values()
        if parameter.kind is parameter.VAR_KEYWORD
    ]
    # They take the parameters of index types, which plugins have.
    assert hidden == [
        "LanceDataset.create_index",
        "LanceDataset.create_index_uncommitted",
        "LanceDataset.create_scalar_index",
    ]
