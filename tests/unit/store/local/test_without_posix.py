"""Tables on systems that lack calls of POSIX, as Python on Windows does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lance_core.store.local import positioned_io

TAKEN_AWAY = """
import ctypes, errno, mmap, os, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
names = "pread preadv pwrite pwritev copy_file_range posix_fallocate fork register_at_fork"
names += " sched_getaffinity sysconf O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY"
for name in names.split():
    delattr(os, name)
for name in [name for name in vars(mmap) if name.startswith(("MAP_", "MADV_", "PROT_"))]:
    delattr(mmap, name)
open_file = os.open
def open_no_folder(path, flags, *arguments, **named):
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)
    return open_file(path, flags, *arguments, **named)
os.open = open_no_folder
library = ctypes.CDLL
class Empty:
    def __getattr__(self, name):
        raise AttributeError(name)
ctypes.CDLL = lambda name, *a, **k: Empty() if name is None else library(name, *a, **k)
"""

PROGRAM = """
import pyarrow as pa
import lance_core as lance
uri = sys.argv[1]
def rows(start, count):
    return pa.table({"id": range(start, start + count), "s": ["text" * 50] * count})
ds = lance.write_dataset(rows(0, 20_000), uri)
ds = lance.write_dataset(rows(20_000, 20_000), uri, mode="append")
ds.update({"s": "'new'"}, where="id < 10")
ds.delete("id >= 39990")
merge = ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
merge.execute(rows(39_985, 10))
ds.create_scalar_index("id", "BTREE")
ds.optimize.compact_files(compaction_mode="try_binary_copy")
ds.add_columns({"twice": "id * 2"})
ds = lance.dataset(uri)
assert ds.count_rows() == 39_995, ds.count_rows()
assert ds.to_table(filter="id = 39994")["twice"].to_pylist() == [79_988]
assert ds.to_table(filter="s = 'new'").num_rows == 10
assert ds.take([0, 39_994])["id"].to_pylist()[1] == 39_994
ds.cleanup_old_versions(older_than=__import__("datetime").timedelta(0))
assert lance.dataset(uri).to_table().num_rows == 39_995
"""


def test_a_table_lives_without_the_calls_that_windows_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TAKEN_AWAY + PROGRAM, str(tmp_path / "t.lance")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("has_positions", [True, False])
def test_bytes_are_read_and_written_at_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_positions: bool
) -> None:
    monkeypatch.setattr(positioned_io, "_HAS_POSITIONS", has_positions)
    views = [memoryview(part) for part in (b"", b"abc", b"", b"de")]
    buffer = bytearray(b"......")
    with (tmp_path / "file").open("w+b") as file:
        descriptor, position = file.fileno(), 2
        while position < 7:
            done = positioned_io.write_at(descriptor, views, position)
            assert done == (5 if has_positions else len(next(filter(None, views), b"")))
            position += done
            views = views[2:]
        assert positioned_io.write_at(descriptor, [memoryview(b"")], 2) == 0
        assert positioned_io.read_at(descriptor, 3, 3) == b"bcd"
        assert positioned_io.read_at(descriptor, 3, 7) == b""
        assert positioned_io.read_into(descriptor, memoryview(buffer), 4) == 3
        assert positioned_io.read_at(descriptor, 3, 0) == b"\0\0a"
    assert buffer == b"cde..."
