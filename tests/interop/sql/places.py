"""The places where an expression is evaluated: they all give what ``columns=`` gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

import lance_core
from tests.interop.differential.compare import first_difference
from tests.interop.sql import samples

_COLUMN = re.compile(r"\b(x_\w+)")


def disagreements(texts: Sequence[str], folder: Path) -> list[str]:
    """The places where one of ``texts``, which have values for all rows, has another value.

    The results of ``columns=`` are stored; the other places then compute them again.
    """
    table = samples.singles()
    names = {f"v{i}": text for i, text in enumerate(texts)}
    dataset = lance_core.write_dataset(table, folder / "places.lance")
    expected = dataset.to_table(columns=names)
    found = []
    dataset.add_columns(names)
    if first_difference(dataset.to_table(columns=list(names)), expected) is not None:
        found.append("add_columns")
    both = [
        (f"({text})", name)
        for name, text in names.items()
        if not pa.types.is_nested(expected.schema.field(name).type)
    ]
    everywhere = " AND ".join(f"{text} IS NOT DISTINCT FROM {name}" for text, name in both)
    if dataset.count_rows(everywhere) != table.num_rows:
        found += [
            f"filter: {text}"
            for text, name in both
            if dataset.count_rows(f"{text} IS NOT DISTINCT FROM {name}") != table.num_rows
        ]
    of_target = [(_COLUMN.sub(r"target.\1", text), f"target.{name}") for text, name in both]
    condition = " AND ".join(f"{text} IS NOT DISTINCT FROM {name}" for text, name in of_target)
    merge = dataset.merge_insert("row").when_matched_update_all(condition)
    if merge.execute(dataset.to_table())["num_updated_rows"] != table.num_rows:
        found.append("merge")
    empty = {
        name: pa.nulls(table.num_rows, field.type)
        for name, field in zip(names, expected.schema, strict=True)
    }
    blank = lance_core.write_dataset(
        pa.table({**{n: table[n] for n in table.column_names}, **empty}), folder / "update.lance"
    )
    blank.update(names)
    if (
        first_difference(blank.to_table(columns=list(names), order_by=["row"]), expected)
        is not None
    ):
        found.append("update")
    return found
