"""The namespace of a folder: what it lists, and that pylance's namespace sees the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import lance as pylance
import lance_namespace as names
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace as PylanceNamespace
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.namespace import DirectoryNamespace
from lance_core_namespace.manifest import TABLE, Entry, Manifest
from tests.each_case import each_case

ROWS = pa.table({"x": [1, 2]})


def tables(namespace: Any, *id_: str, **page: Any) -> list[str]:
    return list(namespace.list_tables(names.ListTablesRequest(id=list(id_), **page)).tables)


def namespaces(namespace: Any, *id_: str) -> list[str]:
    request = names.ListNamespacesRequest(id=list(id_))
    return list(namespace.list_namespaces(request).namespaces)


def described(namespace: Any, *id_: str, **options: Any) -> Any:
    return namespace.describe_table(names.DescribeTableRequest(id=list(id_), **options))


def filled(folder: Path, namespace: Any, dataset_of: Any) -> None:
    """Tables at the root, in a namespace, only declared, and known by their folder alone."""
    namespace.create_namespace(names.CreateNamespaceRequest(id=["n"], properties={"k": "v"}))
    for id_ in (["a"], ["n", "b"]):
        dataset_of(ROWS, namespace_client=namespace, table_id=id_)
    namespace.declare_table(names.DeclareTableRequest(id=["declared"], location=None))
    dataset_of(ROWS, str(folder / "plain.lance"))


@each_case("writer", ["ours", "pylance"])
def test_both_libraries_list_and_open_the_tables_of_each_other(tmp_path: Path, writer: str) -> None:
    ours = DirectoryNamespace(root=str(tmp_path))
    theirs = PylanceNamespace(root=str(tmp_path))
    if writer == "ours":
        filled(tmp_path, ours, lance.write_dataset)
    else:
        filled(tmp_path, theirs, pylance.write_dataset)
    for namespace, library in ((ours, lance), (theirs, pylance)):
        assert tables(namespace) == ["a", "declared", "plain"]
        assert tables(namespace, "n") == ["b"]
        assert namespaces(namespace) == ["n"]
        request = names.DescribeNamespaceRequest(id=["n"])
        assert namespace.describe_namespace(request).properties == {"k": "v"}
        for id_ in (["a"], ["n", "b"], ["plain"]):
            opened: Any = library.dataset(namespace_client=namespace, table_id=id_)
            assert opened.to_table() == ROWS


@each_case("writer", ["ours", "pylance"])
def test_both_libraries_agree_on_folders_without_a_manifest(tmp_path: Path, writer: str) -> None:
    options: Any = {"root": str(tmp_path), "manifest_enabled": "false"}
    ours, theirs = DirectoryNamespace(**options), PylanceNamespace(**options)
    namespace, library = (ours, lance) if writer == "ours" else (theirs, pylance)
    for name in ("a", "b", "c"):
        library.write_dataset(ROWS, namespace_client=namespace, table_id=[name])
    namespace.declare_table(names.DeclareTableRequest(id=["d"], location=None))
    namespace.deregister_table(names.DeregisterTableRequest(id=["b"]))
    namespace.drop_table(names.DropTableRequest(id=["c"]))
    for reader, opener in ((ours, lance), (theirs, pylance)):
        assert tables(reader) == ["a", "d"]
        assert tables(reader, include_declared=False) == ["a"]
        assert described(reader, "d", check_declared=True).is_only_declared
        opened: Any = opener.dataset(namespace_client=reader, table_id=["a"])
        assert opened.to_table() == ROWS
        for name in ("b", "c"):
            with pytest.raises(errors.TableNotFoundError):
                described(reader, name)
    assert (tmp_path / "b.lance" / "_versions").exists()


def test_names_exist_once_and_missing_ones_are_errors(tmp_path: Path) -> None:
    namespace = DirectoryNamespace(root=str(tmp_path))
    filled(tmp_path, namespace, lance.write_dataset)
    for id_ in (["a"], ["n", "b"], ["declared"], ["plain"]):
        with pytest.raises(errors.TableAlreadyExistsError):
            namespace.declare_table(names.DeclareTableRequest(id=id_, location=None))
    with pytest.raises(errors.NamespaceAlreadyExistsError):
        namespace.create_namespace(names.CreateNamespaceRequest(id=["n"]))
    namespace.create_namespace(names.CreateNamespaceRequest(id=["n"], mode="exist_ok"))
    with pytest.raises(errors.NamespaceNotFoundError):
        namespace.create_namespace(names.CreateNamespaceRequest(id=["q", "r"]))
    with pytest.raises(errors.TableNotFoundError):
        described(namespace, "missing")
    with pytest.raises(errors.TableNotFoundError):
        namespace.table_exists(names.TableExistsRequest(id=["n", "a"]))
    with pytest.raises(errors.InvalidInputError):
        described(namespace, "../a")
    namespace.namespace_exists(names.NamespaceExistsRequest(id=["n"]))


def test_what_is_dropped_is_gone_and_namespaces_must_be_empty(tmp_path: Path) -> None:
    namespace = DirectoryNamespace(root=str(tmp_path))
    filled(tmp_path, namespace, lance.write_dataset)
    drop_n = names.DropNamespaceRequest(id=["n"])
    with pytest.raises(errors.NamespaceNotEmptyError):
        namespace.drop_namespace(drop_n)
    for id_ in (["a"], ["n", "b"], ["declared"], ["plain"]):
        namespace.drop_table(names.DropTableRequest(id=id_))
        with pytest.raises(errors.TableNotFoundError):
            namespace.drop_table(names.DropTableRequest(id=id_))
    namespace.drop_namespace(drop_n)
    assert (tables(namespace), namespaces(namespace)) == ([], [])
    assert [path.name for path in tmp_path.iterdir() if path.is_dir() and any(path.iterdir())] == [
        "__manifest"
    ]


@pytest.mark.parametrize(
    "location", ["../out", "a/../../out", "/elsewhere/out", "memory://out", ""]
)
def test_no_table_is_outside_of_the_root(tmp_path: Path, location: str) -> None:
    """Neither if a caller asks for it nor if the manifest, which others may write, says so."""
    root = tmp_path / "root"
    namespace = DirectoryNamespace(root=str(root))
    with pytest.raises(errors.InvalidInputError, match="below the root"):
        namespace.declare_table(names.DeclareTableRequest(id=["d"], location=location))
    with pytest.raises(errors.InvalidInputError, match="below the root"):
        namespace.register_table(names.RegisterTableRequest(id=["r"], location=location))
    Manifest(f"{root}/__manifest", {}).add(Entry(("m",), TABLE, location))
    for call, request in (
        (namespace.describe_table, names.DescribeTableRequest(id=["m"])),
        (namespace.drop_table, names.DropTableRequest(id=["m"])),
    ):
        with pytest.raises(errors.InvalidInputError, match="below the root"):
            call(request)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_tables_are_registered_created_and_counted(tmp_path: Path) -> None:
    namespace = DirectoryNamespace(root=str(tmp_path))
    lance.write_dataset(ROWS, str(tmp_path / "elsewhere" / "t"))
    register = names.RegisterTableRequest(id=["r"], location="elsewhere/t")
    namespace.register_table(register)
    assert namespace.count_table_rows(names.CountTableRowsRequest(id=["r"])).count == 2
    namespace.deregister_table(names.DeregisterTableRequest(id=["r"]))
    assert tables(namespace) == []
    with pytest.raises(errors.InvalidInputError):
        namespace.register_table(names.RegisterTableRequest(id=["r"], location="../out"))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ROWS.schema) as stream:
        stream.write_table(ROWS)
    data = sink.getvalue().to_pybytes()
    made = namespace.create_table(names.CreateTableRequest(id=["c"]), data)
    assert (made.version, described(namespace, "c", load_detailed_metadata=True).version) == (1, 1)
    with pytest.raises(errors.TableAlreadyExistsError):
        namespace.create_table(names.CreateTableRequest(id=["c"]), data)
    over = namespace.create_table(names.CreateTableRequest(id=["c"], mode="overwrite"), data)
    assert over.version == 2


def test_names_come_in_pages_and_properties_are_checked(tmp_path: Path) -> None:
    options: Any = {"storage.durability": "fast", "vend_input_storage_options": "true"}
    namespace = DirectoryNamespace(root=str(tmp_path), **options)
    for name in "abc":
        namespace.declare_table(names.DeclareTableRequest(id=[name], location=None))
    first = namespace.list_tables(names.ListTablesRequest(id=[], limit=2))
    assert (first.tables, first.page_token) == (["a", "b"], "b")
    assert tables(namespace, page_token="b") == ["c"]
    assert described(namespace, "a").storage_options == {"durability": "fast"}
    again = pickle.loads(pickle.dumps(namespace))
    assert tables(again) == ["a", "b", "c"]
    vendor = {"root": str(tmp_path), "credential_vendor.enabled": "true"}
    role = {**vendor, "credential_vendor.aws_role_arn": "arn"}
    for properties, error, text in (
        ({"root": "a", "rot": "b"}, UnsupportedFeatureError, "'rot'"),
        ({}, InvalidInputError, "property root"),
        ({"root": "a", "manifest_enabled": "yes"}, InvalidInputError, "true or false"),
        (vendor, InvalidInputError, "aws_role_arn"),
        ({**role, "credential_vendor.permission": "all"}, InvalidInputError, "permission"),
        ({**role, "credential_vendor.aws_duration_millis": "1"}, InvalidInputError, "900000"),
        ({**role, "credential_vendor.gcp_account": "a"}, UnsupportedFeatureError, "s3:// only"),
        ({"root": "a", "dynamic_context_provider.impl": "a.b"}, InvalidInputError, "'a'"),
    ):
        options: Any = properties
        with pytest.raises(error, match=text):
            DirectoryNamespace(**options)


def test_without_a_manifest_folders_are_tables(tmp_path: Path) -> None:
    namespace = DirectoryNamespace(root=str(tmp_path), manifest_enabled="false")
    lance.write_dataset(ROWS, namespace_client=namespace, table_id=["a"])
    assert tables(namespace) == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.lance"]
    with pytest.raises(errors.UnsupportedOperationError):
        namespace.create_namespace(names.CreateNamespaceRequest(id=["n"]))
