"""The command ``lance-core``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_core._version import __version__
from lance_core.cli import main
from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.hookspecs import SqlFunctionSpec, hookimpl
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore
from lance_core.store.spec import ObjectStoreSpec


@pytest.fixture
def registered() -> Callable[[object, str], None]:
    manager, names = get_manager(), []

    def register(plugin: object, name: str) -> None:
        names.append(manager.register(plugin, name))

    yield register
    for name in names:
        manager.unregister(name)


def test_plugins_are_listed_with_what_they_offer(
    registered: Callable[[object, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    @hookimpl
    def lance_commit_handlers() -> list[CommitHandlerSpec]:
        return [CommitHandlerSpec("turns", "a:b", frozenset({"strong_reads"}), "turns", 7)]

    @hookimpl
    def lance_manifest_stores() -> list[ManifestStoreSpec]:
        return [ManifestStoreSpec("kv", "kv", "a:b")]

    plugin = SimpleNamespace(
        lance_commit_handlers=lance_commit_handlers, lance_manifest_stores=lance_manifest_stores
    )
    registered(plugin, "mine")
    assert main(["plugins"]) == 0
    printed = capsys.readouterr().out
    for text in (
        f"builtin (lance-core {__version__})",
        "store file: file:// guarantees copy_if_absent, put_if_absent",
        "commit handler put-if-absent: requires put_if_absent, strong_reads, rank 100",
        "commit handler unsafe: for one writer at a time, only if asked for by name",
        "encodings: ",
        "mine (a call of register)",
        "commit handler turns: +turns://, requires strong_reads, rank 7",
        "manifest store kv: +kv://",
        sys.executable,
    ):
        assert text in printed
    assert "failed" not in printed


def test_plugins_that_failed_are_listed_with_their_cause(
    registered: Callable[[object, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    @hookimpl
    def lance_object_stores() -> None:
        raise ImportError("no module named 'boto3'")

    registered(SimpleNamespace(lance_object_stores=lance_object_stores), "broken")
    assert main(["plugins"]) == 0
    printed = capsys.readouterr().out
    assert "failed to load: 'broken' of a call of register (ImportError: no module" in printed


def test_a_check_tries_every_factory(
    registered: Callable[[object, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "--check"]) == 0
    assert "factory of lease (lease): can be called" in capsys.readouterr().out

    @hookimpl
    def lance_object_stores() -> list[ObjectStoreSpec]:
        return [
            ObjectStoreSpec("gone", ("gone",), "no_such_sdk_at_all:open"),
            ObjectStoreSpec("odd", ("odd",), lambda url: MemoryStore()),  # type: ignore[arg-type, misc]
        ]

    registered(SimpleNamespace(lance_object_stores=lance_object_stores), "mine")
    assert main(["plugins", "--check"]) == 1
    captured = capsys.readouterr()
    assert "factory of gone (mine): 'gone' cannot be loaded from" in captured.out
    assert "factory of odd (mine): it is called with 2 arguments" in captured.out
    assert captured.err == "lance-core: problems found: 2\n"


def test_a_check_imports_the_planner_of_every_function(
    registered: Callable[[object, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    @hookimpl
    def lance_sql_functions() -> list[SqlFunctionSpec]:
        return [
            SqlFunctionSpec("gone", "no_such_module:gone", "text", "Nothing."),
            SqlFunctionSpec("odd", lambda node: node, "text, [text]", "One argument only."),
            SqlFunctionSpec("right", lambda *nodes: nodes[0], "text, ...", "The first text."),
        ]

    assert main(["plugins", "--check"]) == 0
    assert "SQL functions (builtin): can be planned" in capsys.readouterr().out
    registered(SimpleNamespace(lance_sql_functions=lance_sql_functions), "mine")
    assert main(["plugins", "--check"]) == 1
    captured = capsys.readouterr()
    assert "  SQL functions: gone, odd, right" in captured.out
    assert "SQL function gone (mine): 'gone' cannot be loaded from" in captured.out
    assert "SQL function odd (mine): it is called with 2 arguments" in captured.out
    assert "SQL functions (mine)" not in captured.out
    assert captured.err == "lance-core: problems found: 2\n"


def test_a_check_opens_what_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--check", str(tmp_path), "--option", "durability=fast"]) == 0
    assert "opens a LocalStore and a PutIfAbsentCommitHandler" in capsys.readouterr().out
    assert main(["plugins", "--check", str(tmp_path), "s3e://b/t"]) == 1
    assert "s3e://b/t: no plugin provides" in capsys.readouterr().out


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "lance_core", "plugins"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "builtin" in done.stdout
    assert done.stderr == ""


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_a_full_disk_is_one_line_and_the_status_1() -> None:
    command = [sys.executable, "-m", "lance_core", "plugins"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "lance-core: the output could not be written: No space left on device\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["plugins", "--check", "--option", "durability"], "NAME=VALUE"),
        (["plugin"], "The nearest name is 'plugins'"),
    ],
)
def test_an_error_is_one_line_and_the_status_1(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("lance-core: ")
    assert text in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["new-plugin"], ["plugins", "--wat"]])
def test_what_cannot_be_meant_is_explained(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: lance-core" in capsys.readouterr().err


def test_a_new_plugin_needs_the_package_of_its_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["new-plugin", "vault", "--kind", "store", "--folder", str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.setattr("importlib.util.find_spec", lambda name: None)
        assert main(command) == 1
    assert 'pip install "lance-core[testing]"' in capsys.readouterr().err
    assert main(["new-plugin", "vault", "--kind", "shop"]) == 1
    assert "'shop' is not a kind of plugin" in capsys.readouterr().err
    assert main(command) == 0
    assert (tmp_path / "lance-core-vault" / "pyproject.toml").exists()
