"""Tracebacks that are captured with the variables of their frames show no secret of an option."""

from __future__ import annotations

import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.cli import main
from lance_core.commit import resolve
from lance_core.dataset import (
    discard_fragments,
    migrate_manifest_paths_v2,
    write_fragments,
)
from lance_core.errors import CommitUnknownError, LanceError
from lance_core.file import LanceFileReader, LanceFileSession, LanceFileWriter
from lance_core.optimize import CompactionTask
from lance_core.plugins import open_store
from lance_core.store.config import StoreConfig

CANARY = "canary8f1eQ3zT7c9Kd2"
PACKAGE = str(Path(lance.__file__).parent)
ROWS = pa.table({"x": [1, 2]})
UNKNOWN = CommitUnknownError("whether it was applied is not known")

Options = Mapping[str, str]
Call = Callable[[str, Options], object]

ENTRIES: dict[str, Call] = {
    "dataset": lambda uri, given: lance.dataset(uri, storage_options=given),
    "dataset, unknown argument": lambda uri, given: lance.dataset(
        uri, storage_options=given, nonsense=1
    ),
    "LanceDataset": lambda uri, given: lance.LanceDataset(uri, storage_options=given),
    "write_dataset": lambda uri, given: lance.write_dataset(ROWS, uri, storage_options=given),
    "write_dataset, wrong mode": lambda uri, given: lance.write_dataset(
        ROWS, uri, mode="nonsense", storage_options=given
    ),
    "write_dataset, base_store_params": lambda uri, given: lance.write_dataset(
        ROWS,
        uri,
        base_store_params={uri: given},
    ),
    "dataset, base_store_params": lambda uri, given: lance.dataset(
        uri, base_store_params={uri: given}
    ),
    "LanceDataset, base_store_params": lambda uri, given: lance.LanceDataset(
        uri, base_store_params={uri: given}
    ),
    "commit, base_store_params": lambda uri, given: lance.LanceDataset.commit(
        uri, lance.LanceOperation.Append([]), 1, base_store_params={uri: given}
    ),
    "write_fragments": lambda uri, given: write_fragments(ROWS, uri, storage_options=given),
    "LanceFragment.create": lambda uri, given: lance.LanceFragment.create(
        uri, ROWS, storage_options=given
    ),
    "discard_fragments": lambda uri, given: discard_fragments(
        [lance.FragmentMetadata(0, [], 0)], uri, storage_options=given
    ),
    "commit": lambda uri, given: lance.LanceDataset.commit(
        uri, lance.LanceOperation.Append([]), 1, storage_options=given
    ),
    "commit_batch": lambda uri, given: lance.LanceDataset.commit_batch(
        uri, [], storage_options=given
    ),
    "drop": lance.LanceDataset.drop,
    "migrate": migrate_manifest_paths_v2,
    "resolve": lambda uri, given: resolve(uri, UNKNOWN, storage_options=given),
    "resolve, another error": lambda uri, given: resolve(
        uri,
        OSError(),  # type: ignore[arg-type]
        storage_options=given,
    ),
    "LanceFileReader": lambda uri, given: LanceFileReader(f"{uri}/x", given),
    "LanceFileReader, unsupported": lambda uri, given: LanceFileReader(
        f"{uri}/x", given, table_id=["x"]
    ),
    "LanceFileWriter": lambda uri, given: LanceFileWriter(
        f"{uri}/", ROWS.schema, storage_options=given
    ),
    "LanceFileSession": lambda uri, given: LanceFileSession(uri, given).read_range("x", 0, 1),
    "open_store": lambda uri, given: open_store(uri, given).head("x"),
    "execute": lambda uri, given: compaction_task().execute(uri, storage_options=given),
}


def compaction_task() -> CompactionTask:
    """A task of a table that does not exist."""
    text = {"task": {"fragments": []}, "read_version": 1, "options": {}}
    return CompactionTask.from_json(json.dumps(text))


def methods(dataset: lance.LanceDataset) -> dict[str, Call]:
    """Those of an open table."""
    return {
        "shallow_clone": lambda uri, given: dataset.shallow_clone(uri, 9, given),
        "deep_clone": lambda uri, given: dataset.deep_clone(uri, 1, given),
        "deep_clone, unknown argument": lambda uri, given: dataset.deep_clone(
            uri, 1, given, nonsense=1
        ),
        "create_branch": lambda _, given: dataset.create_branch("dev", 9, given),
    }


def frames_with_secret(error: BaseException) -> list[str]:
    """The frames of this package, also those of causes, that show the secret."""
    found = []
    waiting: list[traceback.TracebackException | None] = [
        traceback.TracebackException.from_exception(error, capture_locals=True)
    ]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        waiting += [one.__cause__, one.__context__]
        found += [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in one.stack
            if frame.filename.startswith(PACKAGE) and CANARY in repr(frame.locals)
        ]
    return found


def leaks_of(call: Call, uri: str, options: Options) -> list[str]:
    try:
        call(uri, options)
    except (LanceError, TypeError) as error:
        return frames_with_secret(error)
    assert "://" not in uri  # some find nothing to do where there is no table
    return []


SECRETS: tuple[dict[str, object], ...] = (
    {"aws_secret_access_key": CANARY, "x": "y"},
    {"proxy": f"http://me:{CANARY}@host"},
    {"password": CANARY.encode()},  # not text: it is refused, and not shown either
    {"login": {"user": "me", "password": CANARY}},
    {3: CANARY},  # type: ignore[dict-item]
)


def test_no_frame_of_a_public_function_shows_a_secret(tmp_path: Path) -> None:
    dataset = lance.write_dataset(ROWS, tmp_path / "table")
    file = tmp_path / "file"
    file.write_bytes(b"")
    found = {}
    for name, call in {**ENTRIES, **methods(dataset)}.items():
        for options in SECRETS:
            for uri in ("nonsense://host/table", str(file / "table")):
                leaks = leaks_of(call, uri, options)  # type: ignore[arg-type]
                if leaks:
                    found[name, str(options), uri] = leaks
    assert found == {}


def test_options_that_are_no_mapping_are_refused_unseen(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    for options in (f'{{"password": "{CANARY}"}}', [("password", CANARY)]):
        for call in ENTRIES.values():
            assert leaks_of(call, str(file / "table"), options) == []  # type: ignore[arg-type]
        with pytest.raises(LanceError, match="storage options must be a mapping, not"):
            lance.dataset(tmp_path, storage_options=options)  # type: ignore[arg-type]
        with pytest.raises(LanceError, match="storage options must be a mapping, not"):
            StoreConfig("memory://x", options)  # type: ignore[arg-type]


def test_the_command_keeps_its_options_out_of_sight(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("not here")

    monkeypatch.setattr("lance_core.commands.table_arguments.dataset", refuse)
    with pytest.raises(RuntimeError) as caught:
        main(["schema", "table", "--option", f"token={CANARY}"])
    # `main` itself has the list of arguments.
    own = [frame for frame in frames_with_secret(caught.value) if not frame.endswith(" main")]
    assert own == []
    for malformed in (CANARY, f"={CANARY}"):
        assert main(["schema", "table", "--option", malformed]) == 1
        assert CANARY not in capsys.readouterr().err


def test_the_frames_are_searched() -> None:
    def leaky() -> None:
        secret = CANARY
        raise ValueError(len(secret))

    code = compile(
        "def leaky(secret):\n    raise ValueError(len(secret))", f"{PACKAGE}/x.py", "exec"
    )
    scope: dict[str, Callable[[str], None]] = {}
    exec(code, scope)
    with pytest.raises(ValueError, match="20") as caught:
        scope["leaky"](CANARY)
    assert len(frames_with_secret(caught.value)) == 1
    with pytest.raises(ValueError, match="20") as elsewhere:
        leaky()
    assert frames_with_secret(elsewhere.value) == []


def _with_options() -> Iterator[str]:
    """The public functions that take storage options, by the last part of their name."""
    for below in ("", ".commit", ".dataset", ".file", ".fragment"):
        module = sys.modules[f"lance_core{below}"]
        for name in module.__all__:
            value = getattr(module, name)
            members = vars(value) if inspect.isclass(value) else {name: value}
            for member in members:
                function = getattr(value, member) if inspect.isclass(value) else value
                if inspect.isroutine(function) and callable(function):
                    parameters = inspect.signature(function, eval_str=False).parameters
                    if "storage_options" in parameters:
                        yield name if member == "__init__" else member


def test_every_public_function_with_storage_options_is_tried(tmp_path: Path) -> None:
    dataset = lance.write_dataset(ROWS, tmp_path / "table")
    tried = {name.partition(",")[0].rpartition(".")[2] for name in {**ENTRIES, **methods(dataset)}}
    assert set(_with_options()) - {"migrate_manifest_paths_v2"} <= tried
