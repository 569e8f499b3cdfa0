"""The same call on either library: the same result, or an error of the same built-in class.

Where we differ, `REASONS` says why; a difference that is gone must be taken off the list.
"""

from __future__ import annotations

import datetime
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance as pylance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_core
import lance_core.fragment
from tests.each_case import each_case

TABLE = pa.table(
    {
        "i": pa.array(range(100)),
        "s": [None if n % 7 == 0 else f"s{n}" for n in range(100)],
        "st": pa.array([{"x": n, "y": str(n)} for n in range(100)]),
        "l": pa.array([[*range(n % 4)] for n in range(100)]),
    }
)

READS = """
ds.to_table()
ds.schema
ds.version
ds.latest_version
ds.count_rows()
len(ds)
ds.count_rows("i > 50")
ds.count_rows("i > 50 and s is null")
ds.count_rows(pc.field("i") > 50)
ds.count_rows("nope")
ds.count_rows("")
ds.count_rows(filter=None)
ds.to_table(columns=["i"])
ds.to_table(columns=["s", "i"])
ds.to_table(columns=["st.x"])
ds.to_table(columns=["st.y", "st.x"])
ds.to_table(columns=["st", "st.x"])
ds.to_table(columns=["st.nope"])
ds.to_table(columns=["l.item"])
ds.to_table(columns=[])
ds.to_table(columns=[]).num_rows
ds.to_table(columns=[], with_row_id=True)
ds.to_table(columns=["i", "i"])
ds.to_table(columns=["nope"])
ds.to_table(columns=["I"])
ds.to_table(columns="i")
ds.to_table(columns=[1])
ds.to_table(columns=("i",))
ds.to_table(columns={"a": "i + 1"})
ds.to_table(columns={"a": "st.x"})
ds.to_table(columns={"a": "i", "b": "s"}, with_row_id=True)
ds.to_table(columns={"a": "i", "b": "s"}, with_row_address=True, with_row_id=True)
ds.to_table(columns={})
ds.to_table(columns=["_rowid", "i"])
ds.to_table(columns=["i", "_rowid"], with_row_id=True)
ds.to_table(columns=["_rowaddr"])
ds.to_table(columns=["_rowoffset", "i"])
ds.to_table(columns={"r": "_rowid"})
ds.to_table(columns={"r": "_rowoffset"})
ds.to_table(with_row_id=True)
ds.to_table(with_row_id=True, with_row_address=True)
ds.to_table(with_row_address=True)
ds.to_table(filter="_rowid > 4294967296")
ds.to_table(filter="_rowaddr > 4294967296")
ds.to_table(filter="_rowoffset > 40")
ds.to_table(filter="i > 50")
ds.to_table(filter="i > 50", columns=["s"])
ds.to_table(filter="i > 50", columns=["s"], limit=3)
ds.to_table(filter="i > 50", columns=["s"], limit=3, offset=5)
ds.to_table(filter="st.x > 50", columns=["st.y"])
ds.to_table(filter="nope > 1")
ds.to_table(filter="i >")
ds.to_table(filter="i + 1")
ds.to_table(filter="")
ds.to_table(filter=5)
ds.to_table(filter=pc.field("nope") > 1)
ds.to_table(filter=pc.field("i") + 1)
ds.to_table(limit=10)
ds.to_table(limit=0)
ds.to_table(limit=-1)
ds.to_table(offset=-1)
ds.to_table(offset=1000)
ds.to_table(limit=10, offset=25)
ds.to_table(limit=10, offset=90)
ds.to_table(limit=2**40)
ds.to_table(offset=90)
ds.to_table(batch_size=0)
ds.to_table(batch_size=-1)
ds.to_table(batch_size=7)
ds.to_table(nope=3)
ds.to_table(use_stats=False)
ds.to_table(prefilter=True)
ds.to_table(late_materialization=["i"], filter="i > 50")
ds.to_table(batch_readahead=2, fragment_readahead=3, io_buffer_size=10000)
ds.to_table(blob_handling="nope")
ds.to_table(blob_handling="all_binary")
ds.to_table(order_by=["i"])
ds.to_table(include_deleted_rows=True, with_row_id=True)
ds.take([0, 5, 3])
ds.take([5, 5, 5])
ds.take([])
ds.take([1000])
ds.take([-1])
ds.take([0.5])
ds.take(["a"])
ds.take(3)
ds.take(None)
ds.take([True, False])
ds.take((1, 2))
ds.take(range(3))
ds.take(np.array([3, 1], np.int32))
ds.take(pa.array([3, 1], pa.uint64()))
ds.take(pa.array([3, None]))
ds.take([3, 1], columns=["s"])
ds.take([3, 1], columns=[])
ds.take([3, 1], columns=[]).num_rows
ds.take([3, 1], columns=["st.x"])
ds.take([3, 1], columns=["st.y", "i", "st.x"])
ds.take([3, 1], columns=["i", "i"])
ds.take([3, 1], columns={"a": "i * 2"})
ds.take([3, 1], columns=["_rowid"])
ds.take([3, 1], columns=["_rowaddr", "i"])
ds.take([3, 1], columns=["_rowoffset", "i"])
ds.head(5)
ds.head(0)
ds.head(-1)
ds.head(3, columns=["i"])
ds.head(3, filter="i > 50")
ds.slice(5, 10)
ds.slice(-1, 2)
ds.slice(5, 2)
ds.slice(5, 5)
ds.slice(90, 200)
ds.slice(5, 10, columns=["i"])
ds.sample(1000)
ds.sample(-1)
ds.sample(3).num_rows
ds.sample(95, randomize_order=False)
ds.get_fragment(0).fragment_id
ds.get_fragment(77)
[f.fragment_id for f in ds.get_fragments()]
ds.get_fragments(filter="i > 3")
[f.count_rows() for f in ds.get_fragments()]
[f.count_rows("i > 40") for f in ds.get_fragments()]
[f.count_rows(pc.field("i") > 40) for f in ds.get_fragments()]
[(f.num_deletions, f.physical_rows) for f in ds.get_fragments()]
[f.deletion_file() for f in ds.get_fragments()]
[f.schema for f in ds.get_fragments()]
[(f.metadata.id, f.metadata.num_rows, f.metadata.num_deletions) for f in ds.get_fragments()]
[json.dumps(f.metadata.to_json(), sort_keys=True) for f in ds.get_fragments()]
repr(ds.get_fragment(0))
ds.get_fragment(0).data_files()[0].path
ds.get_fragment(0).data_files()[0].fields
ds.get_fragment(0).physical_schema
ds.get_fragment(1).take([0, 1, 2])
ds.get_fragment(1).take([0, 2, 1])
ds.get_fragment(1).take([100])
ds.get_fragment(1).take([])
ds.get_fragment(1).head(3)
ds.get_fragment(1).to_table(columns=["i"], filter="i > 40", limit=3, offset=2, with_row_id=True)
ds.get_fragment(1).to_table(with_row_address=True)
list(ds.get_fragment(1).to_batches(batch_size=7))
ds.get_fragment(1).validate()
ds.get_fragment(1).to_pandas().to_dict("list")
ds.to_pandas(columns=["i", "s"]).to_dict("list")
[b.num_rows for b in ds.to_batches(batch_size=7)]
[b.num_rows for b in ds.to_batches(batch_size=1000)]
[b.num_rows for b in ds.to_batches(batch_size=7, filter="i % 2 = 0")]
[b.num_rows for b in ds.to_batches(batch_size=7, strict_batch_size=True)]
[b.num_rows for b in ds.to_batches(batch_size=7, filter="i % 2 = 0", strict_batch_size=True)]
[b.num_rows for b in ds.to_batches(batch_size=7, limit=20)]
[b.num_rows for b in ds.to_batches(batch_size=7, columns=[])]
[b.num_rows for b in ds.to_batches(filter="i < 0")]
ds.scanner().count_rows()
ds.scanner(filter="i > 50").count_rows()
ds.scanner(limit=5).count_rows()
ds.scanner(columns=["i"]).projected_schema
ds.scanner(columns=["i"], with_row_id=True).projected_schema
ds.scanner(columns={"a": "i + 1"}).projected_schema
ds.scanner(columns={"a": "st.x", "b": "i > 3", "c": "s || 'x'"}).projected_schema
ds.scanner(columns={"one": "1"}).projected_schema
ds.scanner(columns=["i"]).dataset_schema
ds.scanner(columns=["i"]).head(3)
ds.scanner(columns=["i"]).to_reader().read_all()
ds.scanner(columns=["i"]).to_pandas().to_dict("list")
ds.scanner(columns=["i"]).take([1])
ds.scanner(fragments=[ds.get_fragment(2), ds.get_fragment(0)]).to_table()
ds.scanner(fragments=[]).to_table()
pa.table(ds)
[v["version"] for v in ds.versions()]
[v["metadata"] for v in ds.versions()]
ds.get_version()["metadata"]
ds.checkout_version(1).to_table()
ds.checkout_version(1).version
ds.checkout_version(99)
ds.checkout_version(0)
ds.checkout_version(-1)
ds.checkout_version("tag")
ds.checkout_version(1.5)
ds.checkout_version((None, 1)).version
ds.checkout_version(("main", 1)).version
ds.checkout_version((None, None)).version
ds.data_storage_version
ds.has_stable_row_ids
ds.max_field_id
ds.metadata
ds.schema_metadata
ds.config()
ds.uri
ds.stats.dataset_stats()
ds.stats.dataset_stats(max_rows_per_group=10)
[(f.id, f.bytes_on_disk) for f in ds.stats.data_stats().fields]
ds.validate()
[type(ds.read_transaction(n).operation).__name__ for n in (1, 2)]
ds.read_transaction(99)
len(ds.get_transactions())
len(ds.get_transactions(1))
ds.read_transaction(1).read_version
ds.read_transaction(1).transaction_properties
ds.read_transaction(2).uuid
lance.dataset(ds.uri + "nope")
lance.dataset(ds.uri, version=1).count_rows()
lance.dataset(ds.uri, version=9)
lance.dataset(ds.uri, version=0)
lance.dataset(ds.uri, version="x")
lance.dataset(ds.uri, asof=datetime.datetime(2001, 1, 1))
lance.dataset(ds.uri, asof=datetime.datetime(2999, 1, 1)).version
lance.dataset(ds.uri, asof="2999-01-01 00:00:00").version
lance.dataset(ds.uri, asof="garbage")
lance.dataset(ds.uri, asof=5)
lance.dataset(ds.uri, version=1, asof=datetime.datetime(2001, 1, 1)).version
lance.dataset(None)
lance.dataset(5)
lance.dataset(Path(ds.uri)).version
lance.dataset(ds.uri, nope=1)
lance.LanceDataset(ds.uri).version
lance.LanceDataset(ds.uri, 1).version
lance.dataset(ds.uri, default_scan_options={"with_row_id": True}).to_table()
lance.dataset(ds.uri, default_scan_options={"with_row_id": True}).schema
lance.dataset(ds.uri, default_scan_options={"columns": ["i"]}).to_table()
lance.dataset(ds.uri, default_scan_options={"columns": ["i"]}).to_table(columns=["s"])
lance.dataset(ds.uri, default_scan_options={"nope": ["i"]}).to_table(columns=["s"])
"""

WRITES = """
write(TABLE)
write(TABLE.to_batches()[0])
write(TABLE.to_reader())
write(TABLE.to_pandas()).schema.names
write({"i": [1, 2]})
write([{"i": 1}, {"i": 2}])
write(iter(TABLE.to_batches()), schema=TABLE.schema)
write(TABLE.to_batches(), schema=TABLE.schema)
write(iter(TABLE.to_batches()))
write(iter(TABLE.select(["i"]).to_batches()), schema=pa.schema({"i": pa.int32()}))
write(iter(TABLE.select(["i"]).to_batches()), schema=pa.schema({"z": pa.int32()}))
write(TABLE, schema=pa.schema({"i": pa.int32()}))
write(pads.dataset(TABLE))
write(pads.dataset(TABLE).scanner(columns=["i"]))
write(ds)
write(ds.scanner(columns=["i"]))
write(None)
write(5)
write("abc")
write([])
write([], schema=TABLE.schema)
write([1, 2])
write([1, 2], schema=TABLE.schema)
write(TABLE.slice(0, 0))
write(pa.table({}))
write(pa.table([ONE, ONE], names=["a", "a"]))
write(pa.table([ONE], names=[""]))
write(pa.table([ONE], names=["a.b"]))
write(pa.table([ONE], names=["_rowid"]))
write(pa.table([ONE], names=["_rowoffset"]))
write(pa.table([ONE, ONE], names=["a", "A"]))
write(pa.table({"s": pa.array([{"x": 1}, None])}))
write(pa.table({"m": pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))}))
write(TABLE, mode="nope")
write(TABLE, mode="append")
write(TABLE, mode="overwrite")
write(TABLE, max_rows_per_file=3)
write(TABLE, max_rows_per_file=0)
write(TABLE, max_rows_per_file=-1)
write(TABLE, max_bytes_per_file=0)
write(TABLE, max_rows_per_group=3)
write(TABLE, data_storage_version="9.9")
write(TABLE, data_storage_version="legacy")
write(TABLE, foo=1)
write(TABLE, commit_message=1)
write(TABLE, transaction_properties={"a": 1})
write(TABLE, storage_options={"a": "b"})
write(TABLE, storage_options={"a": 1})
write(TABLE, enable_stable_row_ids=True).has_stable_row_ids
write(TABLE, enable_v2_manifest_paths=False)
write(TABLE, commit_message="x").read_transaction(1).transaction_properties
lance.write_dataset(TABLE, None)
lance.write_dataset(TABLE, 5)
again(TABLE, "create")
again(TABLE, "append")
again(TABLE, "overwrite", data_storage_version="2.0").data_storage_version
again(TABLE, "overwrite", data_storage_version=None).data_storage_version
again(TABLE.slice(0, 0), "append")
again(TABLE.select(["s", "l", "i", "st"]), "append")
again(TABLE.select(["s"]), "append")
again(TABLE.append_column("q", [list(range(100))]), "append")
again({"z": [1]}, "append")
again(TABLE.rename_columns(["I", "S", "ST", "L"]), "append")
again({"i": pa.array([1], pa.int32())}, "append")
again({"i": pa.nulls(1)}, "append")
again({"s": pa.array(["a"], pa.large_string())}, "append")
again({"s": pa.array(["a"]).dictionary_encode()}, "append")
again(TABLE.replace_schema_metadata({"a": "b"}), "append")
again(TABLE, "append", data_storage_version="2.1").data_storage_version
[f.fragment_id for f in again(TABLE, "overwrite", data_storage_version="2.0").get_fragments()]
write(TABLE).insert(TABLE)
write(TABLE).insert({"z": [1]})
lance.write_dataset(TABLE, write(TABLE), mode="append").version
lance.write_dataset(TABLE, write(TABLE))
[f.physical_rows for f in lance.fragment.write_fragments(TABLE, path, max_rows_per_file=40)]
lance.fragment.write_fragments(TABLE.slice(0, 0), path)
lance.fragment.write_fragments({"z": [1]}, write(TABLE).uri)
lance.fragment.write_fragments(TABLE, write(TABLE).uri, mode="create")
lance.LanceFragment.create(path, TABLE).id
lance.LanceFragment.create(path, TABLE, fragment_id=7).id
lance.LanceFragment.create(path, TABLE.slice(0, 0))
commit(write(TABLE), lance.LanceOperation.Append([]))
commit(write(TABLE), lance.LanceOperation.Append([]), read_version=1)
commit(write(TABLE), lance.LanceOperation.Append([]), read_version=7)
commit(write(TABLE), "x", read_version=1)
commit(write(TABLE), lance.LanceOperation.Overwrite(TABLE.schema, []))
commit(path, lance.LanceOperation.Append([]), read_version=1)
commit(write(TABLE), lance.Transaction(1, lance.LanceOperation.Append([])))
commit(write(TABLE), lance.Transaction(1, lance.LanceOperation.Append([])), commit_message="x")
lance.LanceOperation.Append(["x"])
lance.LanceOperation.Append(5)
lance.LanceOperation.Overwrite(TABLE.schema, ["x"])
"""

REASONS = {
    "datasets are streams of Arrow here": "pa.table(ds)",
    "every argument that cannot be used is a ValueError here": """
ds.to_table(columns="i")
ds.to_table(columns=[1])
ds.to_table(filter=5)
ds.to_table(batch_size=-1)
ds.take([1000])
ds.take([-1])
ds.take([0.5])
ds.take(["a"])
ds.take(3)
ds.take(None)
ds.take(pa.array([3, None]))
ds.get_fragment(1).take([100])
lance.dataset(ds.uri, asof=5)
write(None)
write(5)
write([1, 2], schema=TABLE.schema)
write(pa.table([ONE, ONE], names=["a", "a"]))
write(pa.table([ONE], names=["a.b"]))
write(pa.table([ONE], names=["_rowid"]))
write(pa.table([ONE], names=["_rowoffset"]))
write(TABLE, max_rows_per_file=0)
write(TABLE, max_rows_per_file=-1)
write(TABLE, commit_message=1)
write(TABLE, transaction_properties={"a": 1})
write(TABLE, storage_options={"a": 1})
""",
    "a number of rows or bytes below 1 and truth values for numbers are taken for mistakes": """
write(TABLE, max_bytes_per_file=0)
ds.take([True, False])
""",
    "what is missing is not found, whatever its number": """
ds.checkout_version(-1)
""",
    "what a file version cannot store is a NotImplementedError": """
write(pa.table({"s": pa.array([{"x": 1}, None])}))
write(pa.table({"m": pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))}))
""",
    "we can do this": """
ds.to_table(columns=("i",))
ds.to_table(filter="_rowoffset > 40")
ds.get_fragment(0).physical_schema
ds.get_fragment(1).take([0, 2, 1])
ds.scanner(limit=5).count_rows()
ds.scanner(columns={"one": "1"}).projected_schema
ds.scanner(columns=["i"]).take([1])
write(iter(TABLE.to_batches()))
""",
    "a storage option that nothing understands is taken for a misspelt one": """
write(TABLE, storage_options={"a": "b"})
""",
    "pylance says not null in a take and nullable in a scan": """
ds.take([3, 1], columns=["_rowoffset", "i"])
""",
    "batches without strict_batch_size may have any size up to the one asked for": """
[b.num_rows for b in ds.to_batches(batch_size=7, filter="i % 2 = 0")]
""",
}
DIFFERENT = {line for lines in REASONS.values() for line in lines.split("\n") if line}


class Calls:
    """What the expressions may name."""

    def __init__(self, library: Any, dataset: Any, folder: Path) -> None:
        self.library = library
        self.dataset = dataset
        self.folder = folder
        self.numbers = itertools.count()

    @property
    def path(self) -> str:
        """A place of its own for each call."""
        return str(self.folder / f"{self.library.__name__}{next(self.numbers)}")

    def write(self, data: Any, **options: Any) -> Any:
        options = {"data_storage_version": "2.0", **options}
        return self.library.write_dataset(data, self.path, **options)

    def again(self, data: Any, mode: str, **options: Any) -> Any:
        first = self.write(TABLE)
        if isinstance(data, dict):
            data = pa.table(data)
        return self.library.write_dataset(data, first.uri, mode=mode, **options)

    def commit(self, target: Any, operation: Any, **options: Any) -> Any:
        return self.library.LanceDataset.commit(target, operation, **options)

    def evaluate(self, expression: str) -> Any:
        names = {
            "TABLE": TABLE,
            "ONE": pa.array([1]),
            "Path": Path,
            "datetime": datetime,
            "json": json,
            "pa": pa,
            "pc": pc,
            "np": np,
            "pads": pads,
            "lance": self.library,
            "ds": self.dataset,
            "path": self.path,
            "write": self.write,
            "again": self.again,
            "commit": self.commit,
        }
        return eval(expression, names)


def told(result: Any, library: Any) -> Any:
    """A result as something that can be compared."""
    if isinstance(result, pa.Table | pa.RecordBatch):
        return result.schema.to_string(), result.num_rows, result.to_pydict()
    if isinstance(result, library.LanceDataset):
        return result.version, len(result.get_fragments()), told(result.to_table(), library)
    return repr(result)


def outcome(calls: Calls, expression: str) -> tuple[Any, BaseException | None]:
    try:
        return told(calls.evaluate(expression), calls.library), None
    except BaseException as error:  # a panic of pylance is no Exception
        return None, error


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Calls, Calls]]:
    folder = tmp_path_factory.mktemp("parity")
    uri = str(folder / "table")
    pylance.write_dataset(TABLE, uri, data_storage_version="2.0", max_rows_per_file=30)
    pylance.dataset(uri).delete("i in (3, 31, 32, 99, 60)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_CORE_DURABILITY", "fast")
        yield tuple(  # type: ignore[misc]
            Calls(library, library.dataset(uri), folder) for library in (pylance, lance_core)
        )


def agree(both: tuple[Calls, Calls], expression: str) -> str | None:
    """None if both do the same, else what each of them does."""
    (given, their_error), (found, our_error) = (outcome(calls, expression) for calls in both)
    if their_error is None and our_error is None:
        return None if found == given else f"theirs: {given}\nours: {found}"
    if their_error is None or our_error is None:
        return f"theirs: {given or repr(their_error)}\nours: {found or repr(our_error)}"
    kinds = [kind for kind in type(their_error).__mro__ if kind.__module__ == "builtins"]
    if kinds[0] is not BaseException and isinstance(our_error, kinds[0]):
        return None
    return f"theirs: {their_error!r}\nours: {our_error!r}"


@each_case("expression", [*READS.split("\n")[1:-1], *WRITES.split("\n")[1:-1]])
@pytest.mark.filterwarnings("ignore")
def test_both_libraries_do_the_same(both: tuple[Calls, Calls], expression: str) -> None:
    difference = agree(both, expression)
    if expression in DIFFERENT:
        assert difference is not None, "this difference is gone"
    else:
        assert difference is None, difference


def test_only_expressions_of_the_list_are_excused() -> None:
    assert {*READS.split("\n"), *WRITES.split("\n")} >= DIFFERENT


def test_pylance_can_be_imported_after_our_bfloat16() -> None:
    # pylance registers the name with Arrow, which only one library can do.
    ours = "import lance_core.arrow as ours; ours.BFloat16Type"
    code = f"{ours}; import lance.arrow as a; print(a.bfloat16_array([1.5]).type)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "lance.bfloat16" in done.stdout
