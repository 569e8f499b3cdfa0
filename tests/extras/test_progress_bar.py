"""Progress bars of long writes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.values import progress_bar

TABLE = pa.table({"a": range(100)})


class Terminal:
    """A terminal that keeps what is written to it."""

    def __init__(self, is_terminal: bool = True) -> None:
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    # pytest replaces `sys.stderr` itself before each test.
    monkeypatch.setattr(progress_bar, "sys", SimpleNamespace(stderr=found, modules={}))
    monkeypatch.setattr(progress_bar, "DELAY_SECONDS", 0)
    return found


def test_writes_and_new_columns_have_one_bar(terminal: Terminal, tmp_path: Path) -> None:
    ds = lance_core.write_dataset(TABLE, tmp_path / "t", max_rows_per_file=30)
    assert "write: 100 rows" in terminal.text
    terminal.text = ""
    ds.add_columns({"b": "a + 1"})
    assert "write columns: 100 rows" in terminal.text
    assert "write: " not in terminal.text


@pytest.mark.parametrize("target", [1000, 31])
def test_a_compaction_has_one_bar_for_all_tasks(
    terminal: Terminal, tmp_path: Path, target: int
) -> None:
    ds = lance_core.write_dataset(TABLE, tmp_path / "t", max_rows_per_file=30)
    ds.delete("a = 3")
    for mode in ("reencode", "try_binary_copy"):
        terminal.text = ""
        ds.optimize.compact_files(target_rows_per_fragment=target, compaction_mode=mode)
        ds.checkout_version(2).restore()
        ds.checkout_latest()
        assert "compact: 100%" in terminal.text
        assert "99.0/99.0" in terminal.text
        assert "write" not in terminal.text


def test_a_failed_write_removes_its_bar(terminal: Terminal, tmp_path: Path) -> None:
    def batches() -> object:
        yield TABLE.to_batches()[0]
        raise RuntimeError("no more rows")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(RuntimeError):
        lance_core.write_dataset(reader, tmp_path / "t")
    terminal.text = ""
    lance_core.write_dataset(TABLE, tmp_path / "t")
    assert "write: 100 rows" in terminal.text


def test_quick_writes_have_no_bar(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "DELAY_SECONDS", 60)
    lance_core.write_dataset(TABLE, tmp_path / "t")
    assert terminal.text == ""


@pytest.mark.parametrize("reason", ["no terminal", "no tqdm", "no errors"])
def test_without_terminal_or_tqdm_there_is_no_bar(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    if reason == "no tqdm":
        monkeypatch.setitem(sys.modules, "tqdm", None)
    else:
        errors = Terminal(False) if reason == "no terminal" else None
        monkeypatch.setattr(progress_bar, "sys", SimpleNamespace(stderr=errors, modules={}))
    lance_core.write_dataset(TABLE, tmp_path / "t")
    assert terminal.text == ""


def test_a_notebook_has_bars_without_a_terminal(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal._is_terminal = False
    lance_core.write_dataset(TABLE, tmp_path / "t")
    assert terminal.text == ""
    shell = type("ZMQInteractiveShell", (), {})()
    modules = {"IPython": SimpleNamespace(get_ipython=lambda: shell)}
    monkeypatch.setattr(progress_bar.sys, "modules", modules)
    monkeypatch.setattr(progress_bar.importlib.util, "find_spec", lambda name: None)
    lance_core.write_dataset(TABLE, tmp_path / "u")
    assert "write: 100 rows" in terminal.text
