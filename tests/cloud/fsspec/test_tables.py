"""Tables on file systems, as users see them: who may commit, and how."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import CommitError, NoSafeCommitHandlerError
from lance_core.plugins.store_cache import open_store
from lance_core.store.functions import list_paths
from lance_core_fsspec import register_file_system, unregister_file_system
from tests.cloud.fsspec.s3 import s3_file_system
from tests.forked import Forks, forking
from tests.servers.moto import Moto

ROWS = pa.table({"writer": [0, 0], "number": [1, 2]})
PROCESSES = 2
APPENDS = 4

WRITER = """
import faulthandler, sys, fsspec, pyarrow as pa, lance_core
faulthandler.dump_traceback_later(100, exit=True)
from lance_core_fsspec import register_file_system
folder, called, uri, writer, count, *options = sys.argv[1:]
register_file_system(called, fsspec.filesystem("file"), folder)
given = dict(option.split("=", 1) for option in options)
for number in range(int(count)):
    table = pa.table({"writer": [int(writer)], "number": [number]})
    lance_core.write_dataset(table, uri, mode="append", storage_options=given)
"""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Makes processes that have imported what writers need."""
    with forking(
        "import pandas, sqlalchemy.dialects.sqlite, lance_core_sql.store, lance_core_fsspec.store\n"
        "import fsspec.implementations.local\n"
        "import lance_core.dataset.write.write, lance_core.dataset.maintenance.cleanup"
    ) as made:
        yield made


@pytest.fixture
def called(tmp_path: Path) -> Iterator[str]:
    """The name of a file system that shows a folder of this test."""
    called = f"t{uuid.uuid4().hex}"
    register_file_system(called, fsspec.filesystem("file"), str(tmp_path))
    yield called
    unregister_file_system(called)


@pytest.fixture(scope="module")
def s3(moto: Moto) -> Any:
    return s3_file_system(moto)


@pytest.fixture
def on_s3(s3: Any, bucket: str) -> Iterator[str]:
    yield register_file_system(bucket, s3, bucket)
    unregister_file_system(bucket)


def test_a_commit_that_nothing_decides_is_refused_with_the_remedies(
    called: str, tmp_path: Path
) -> None:
    with pytest.raises(NoSafeCommitHandlerError) as caught:
        lance_core.write_dataset(ROWS, f"fsspec://{called}/t.lance")
    for remedy in ("fsspec+sql://", "fsspec+ddb://", "fsspec+lease://", "commit_lock"):
        assert remedy in str(caught.value)
    assert not list(tmp_path.glob("t.lance/_versions/*"))


def test_who_vouches_for_what_is_not_there_is_refused_by_the_store(called: str) -> None:
    options = {"put_if_absent": "yes"}
    with pytest.raises(CommitError, match="only if there is none"):
        lance_core.write_dataset(ROWS, f"fsspec://{called}/t.lance", storage_options=options)


@pytest.mark.parametrize("decides", ["sql", "lease"])
def test_no_append_of_any_process_is_lost_or_doubled(
    called: str, tmp_path: Path, decides: str, forks: Forks
) -> None:
    (tmp_path / "leases").mkdir()
    options = {
        "sql": {"sqlUrl": f"sqlite:///{tmp_path}/rows.sqlite", "durability": "fast"},
        "lease": {"lease_uri": f"{tmp_path}/leases"},
    }[decides]
    uri = f"fsspec+{decides}://{called}/t.lance"
    lance_core.write_dataset(ROWS, uri, storage_options=options)
    given = [f"{name}={value}" for name, value in options.items()]
    ended = forks.run(
        WRITER,
        *((tmp_path, called, uri, writer, APPENDS, *given) for writer in range(1, PROCESSES + 1)),
    )
    assert ended == [0] * PROCESSES
    rows = lance_core.dataset(f"fsspec://{called}/t.lance").to_table().to_pylist()
    expected = ROWS.to_pylist() + [
        {"writer": writer, "number": number}
        for writer in range(1, PROCESSES + 1)
        for number in range(APPENDS)
    ]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    assert pylance.dataset(str(tmp_path / "t.lance")).to_table().num_rows == len(expected)


def test_commits_under_a_lock_of_the_caller(called: str) -> None:
    from contextlib import nullcontext

    uri = f"fsspec://{called}/t.lance"
    lock = lambda version: nullcontext()  # noqa: E731
    lance_core.write_dataset(ROWS, uri, commit_lock=lock)
    appended = lance_core.write_dataset(ROWS, uri, mode="append", commit_lock=lock)
    assert appended.count_rows() == 4
    assert lance_core.dataset(uri).version == 2


@pytest.mark.parametrize("decides", ["", "+lease"])
def test_a_table_on_s3fs_is_committed_by_conditional_writes(
    on_s3: str, moto: Moto, bucket: str, decides: str
) -> None:
    uri = f"{on_s3.replace('fsspec', f'fsspec{decides}')}/t.lance"
    lance_core.write_dataset(ROWS, uri)
    assert lance_core.write_dataset(ROWS, uri, mode="append").version == 2
    read = pylance.dataset(f"s3://{bucket}/t.lance", storage_options=moto.options)
    assert read.to_table().num_rows == 4
    if not decides:
        pylance.write_dataset(
            ROWS, f"s3://{bucket}/t.lance", mode="append", storage_options=moto.options
        )
        dataset = lance_core.dataset(uri)
        assert (dataset.version, dataset.count_rows()) == (3, 6)
        dataset.delete("number = 1")
        assert dataset.count_rows() == 3
        assert lance_core.dataset(uri).version == 4


def test_a_table_on_s3fs_is_committed_through_rows(on_s3: str, tmp_path: Path) -> None:
    uri = f"{on_s3.replace('fsspec', 'fsspec+sql')}/t.lance"
    options = {"sqlUrl": f"sqlite:///{tmp_path}/rows.sqlite", "durability": "fast"}
    lance_core.write_dataset(ROWS, uri, storage_options=options)
    appended = lance_core.write_dataset(ROWS, uri, mode="append", storage_options=options)
    assert appended.count_rows() == 4
    assert lance_core.dataset(f"{on_s3}/t.lance").version == 2


def test_a_dropped_table_leaves_no_file_and_no_folder(called: str, tmp_path: Path) -> None:
    uri = f"fsspec://{called}/t.lance"
    options = {"commit_handler": "unsafe"}
    with pytest.warns(UserWarning, match="unsafe"):
        lance_core.write_dataset(ROWS, uri, storage_options=options)
    assert list_paths(open_store(uri))
    lance_core.LanceDataset.drop(uri, storage_options=options)
    assert list_paths(open_store(uri)) == []
    assert not [path for path in tmp_path.rglob("*") if path.name != "t.lance"]
