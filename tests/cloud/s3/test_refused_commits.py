"""A commit that cannot succeed is refused before the first upload, and leaves nothing."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.handlers.directory import ReadOnlyCommitHandler
from lance_core.errors import LanceError, NoSafeCommitHandlerError
from lance_core.plugins.capability_evidence import probes
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, Without, xml_error
from tests.servers.moto import Moto

ROWS = pa.table({"id": range(600), "v": [float(v) for v in range(600)], "s": ["a"] * 600})
NEW = pa.table({"id": range(600), "z": range(600)})
IGNORED = Rule(Without(frozenset({"if-none-match"})), "PUT")

VERBS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "append": lambda ds: lance.write_dataset(ROWS, ds, mode="append"),
    "overwrite": lambda ds: lance.write_dataset(ROWS, ds, mode="overwrite"),
    "create": lambda ds: lance.write_dataset(
        ROWS, f"{ds.uri}-new", storage_options=dict(ds.snapshot.root.config.options)
    ),
    "insert": lambda ds: ds.insert(ROWS),
    "delete": lambda ds: ds.delete("id < 5"),
    "truncate": lambda ds: ds.delete("true"),
    "update": lambda ds: ds.update({"v": "v + 1"}, where="id < 100"),
    "merge_insert": lambda ds: (
        ds.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(ROWS.slice(0, 10))
    ),
    "merge": lambda ds: ds.merge(NEW, "id"),
    "add_columns": lambda ds: ds.add_columns({"w": "v * 2"}),
    "add a column of nulls": lambda ds: ds.add_columns(pa.field("n", pa.int32())),
    "drop_columns": lambda ds: ds.drop_columns(["s"]),
    "cast": lambda ds: ds.alter_columns({"path": "v", "data_type": pa.float32()}),
    "rename": lambda ds: ds.alter_columns({"path": "v", "name": "u"}),
    "compact": lambda ds: ds.optimize.compact_files(),
    "index": lambda ds: ds.create_scalar_index("v", "BTREE"),
    "optimize_indices": lambda ds: ds.optimize.optimize_indices(),
    "drop_index": lambda ds: ds.drop_index("id_idx"),
    "restore": lambda ds: ds.checkout_version(1).restore(),
    "create_branch": lambda ds: ds.create_branch("other"),
    "delete on a branch": lambda ds: ds.checkout_version(("branch", None)).delete("id < 3"),
    "update_config": lambda ds: ds.update_config({"a": "b"}),
    "shallow_clone": lambda ds: ds.shallow_clone(f"{ds.uri}-clone", 1),
    "deep_clone": lambda ds: ds.deep_clone(f"{ds.uri}-clone", 1),
}


@pytest.fixture
def uri(moto: Moto, bucket: str) -> str:
    """A table with an index that lacks a fragment, and a branch."""
    uri = f"s3://{bucket}/t"
    made = lance.write_dataset(ROWS, uri, storage_options=moto.options, max_rows_per_file=100)
    made.create_scalar_index("id", "BTREE")
    made.insert(ROWS)
    made.create_branch("branch")
    probes.reset()
    return uri


def refused(
    ds: lance.LanceDataset, moto: Moto, proxy: FaultProxy, *rules: Rule, match: str = "no commit"
) -> None:
    """All `VERBS` are refused; none of them sends data or changes an object."""
    name = ds.uri.split("/")[2]
    before = moto.client("s3").list_objects_v2(Bucket=name)["Contents"]
    for verb, run in VERBS.items():
        proxy.set_rules(rules)
        with pytest.raises(LanceError, match=match):
            run(ds)
        sent = [one.path for one in proxy.requests if one.method in {"PUT", "POST", "DELETE"}]
        assert [path for path in sent if "_probe/" not in path] == [], verb
    after = moto.client("s3").list_objects_v2(Bucket=name)["Contents"]
    assert [one["Key"] for one in after] == [one["Key"] for one in before]
    assert [one["ETag"] for one in after] == [one["ETag"] for one in before]


@pytest.mark.parametrize(
    "option", [{"put_if_absent": "no"}, {"aws_conditional_put": "disabled"}], ids=str
)
def test_what_options_rule_out_is_refused_before_any_upload(
    uri: str, moto: Moto, proxy: FaultProxy, option: dict[str, str]
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url} | option
    refused(lance.dataset(uri, storage_options=options), moto, proxy)
    assert proxy.count("PUT") == 0


def test_a_server_that_ignores_conditions_is_refused_before_any_upload(
    uri: str, moto: Moto, proxy: FaultProxy
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url}
    refused(lance.dataset(uri, storage_options=options), moto, proxy, IGNORED)


def test_a_probe_that_fails_is_told_before_any_upload(
    uri: str, moto: Moto, proxy: FaultProxy
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url}
    denied = Rule(xml_error(403, "AccessDenied"), "PUT")
    ds = lance.dataset(uri, storage_options=options)
    refused(ds, moto, proxy, denied, match="could not be probed")


def test_a_handler_that_only_reads_is_asked_before_any_upload(
    uri: str, moto: Moto, proxy: FaultProxy
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url}
    ds = lance.dataset(uri, storage_options=options)
    root = ds.snapshot.root
    handler = ReadOnlyCommitHandler(root.store)
    object.__setattr__(root, "handler", handler)
    for verb in ("append", "delete", "update", "index", "compact", "add_columns"):
        with pytest.raises(NoSafeCommitHandlerError, match="read-only"):
            VERBS[verb](ds)
    assert proxy.count("PUT") == 0
