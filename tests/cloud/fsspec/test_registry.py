"""File-system objects of the caller, by the names that they were given."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import lance_core
from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from lance_core.plugins.store_cache import open_store
from lance_core_fsspec import register_file_system, unregister_file_system


@pytest.fixture
def called() -> Iterator[str]:
    called = f"t{uuid.uuid4().hex}"
    yield called
    unregister_file_system(called)


@pytest.fixture
def memory() -> MemoryFileSystem:
    return fsspec.filesystem("memory", skip_instance_cache=True)


def test_the_same_object_may_be_registered_again(called: str, memory: MemoryFileSystem) -> None:
    assert register_file_system(called, memory) == f"fsspec://{called}"
    assert register_file_system(called, memory) == f"fsspec://{called}"


def test_a_name_that_is_taken_is_refused(called: str, memory: MemoryFileSystem) -> None:
    register_file_system(called, memory)
    for other, root in ((fsspec.filesystem("file"), None), (memory, "elsewhere")):
        with pytest.raises(InvalidInputError, match="another file system"):
            register_file_system(called, other, root)


@pytest.mark.parametrize("name", ["", "Lab", "a/b", "a b", "a@b", ".a", "x" * 64, None])
def test_what_cannot_stand_in_a_url_is_no_name(name: Any, memory: MemoryFileSystem) -> None:
    with pytest.raises(InvalidInputError):
        register_file_system(name, memory)


@pytest.mark.parametrize("what", ["memory", None, AsyncFileSystem(asynchronous=True)])
def test_what_is_no_file_system_of_this_thread_is_refused(called: str, what: Any) -> None:
    with pytest.raises(InvalidInputError):
        register_file_system(called, what)


def test_a_root_is_written_as_the_file_system_does(called: str, tmp_path: Path) -> None:
    url = register_file_system(called, fsspec.filesystem("file"), f"file://{tmp_path}/")
    open_store(f"{url}/folder").put("object", b"content")
    assert (tmp_path / "folder" / "object").read_bytes() == b"content"


def test_two_names_of_one_place_show_the_same(called: str, memory: MemoryFileSystem) -> None:
    url = register_file_system(called, memory, f"/{called}")
    other = register_file_system(f"{called}-2", memory, f"/{called}/below")
    open_store(f"{url}/below/table").put("object", b"content")
    assert bytes(open_store(f"{other}/table").get("object")) == b"content"
    unregister_file_system(f"{called}-2")


def test_an_unregistered_file_system_is_not_used_any_more(
    called: str, memory: MemoryFileSystem
) -> None:
    store = open_store(f"{register_file_system(called, memory)}/table")
    unregister_file_system(called)
    with pytest.raises(InvalidInputError, match="register_file_system"):
        store.get("object")


def test_options_are_for_whoever_makes_the_object(called: str, memory: MemoryFileSystem) -> None:
    url = register_file_system(called, memory)
    with pytest.raises(InvalidInputError, match="takes no options"):
        open_store(url, {"anon": "true"})


def test_a_store_does_not_travel(called: str, memory: MemoryFileSystem) -> None:
    store = open_store(f"{register_file_system(called, memory)}/table")
    with pytest.raises(UnsupportedFeatureError):
        pickle.dumps(store)


def _attempt(dataset: bytes, called: str, folder: str, answer: Connection) -> None:
    told = []
    for step in range(2):
        try:
            told.append(str(pickle.loads(dataset).count_rows()))
        except LanceError as error:
            told.append(str(error))
        if step == 0:
            register_file_system(called, fsspec.filesystem("file"), folder)
    answer.send(told)
    answer.close()
    os._exit(0)


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork")
def test_another_process_has_to_register_its_own(called: str, tmp_path: Path, method: str) -> None:
    lance_core.write_dataset(pa.table({"x": [1, 2]}), tmp_path / "t.lance")
    url = register_file_system(called, fsspec.filesystem("file"), str(tmp_path))
    dataset = lance_core.dataset(f"{url}/t.lance")
    assert dataset.count_rows() == 2
    context = get_context(method)
    here, there = context.Pipe(duplex=False)
    arguments = (pickle.dumps(dataset), called, str(tmp_path), there)
    process = context.Process(target=_attempt, args=arguments)
    process.start()
    assert here.poll(60)
    refusal, count = here.recv()
    process.join(60)
    assert "register_file_system" in refusal
    assert count == "2"


def _count(url: str, options: dict[str, str], answer: Connection) -> None:
    answer.send(lance_core.dataset(url, storage_options=options).count_rows())
    answer.close()
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_child_opens_a_file_system_of_its_own(tmp_path: Path) -> None:
    import shutil

    lance_core.write_dataset(pa.table({"x": [1, 2]}), tmp_path / "t.lance")
    options = {"fo": shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path, "t.lance")}
    assert lance_core.dataset("zip://t.lance", storage_options=options).count_rows() == 2
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_count, args=("zip://t.lance", options, there))
    process.start()
    assert here.poll(60)
    assert here.recv() == 2
    process.join(60)
