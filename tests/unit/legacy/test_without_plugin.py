"""Without the plugin, a 0.1 table shows its metadata, and its data files name the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_core as lance

PROGRAM = """
import sys
import pyarrow as pa
import lance_core as lance
from lance_core.plugins import manager
manager._manager = manager.PluginManager(entry_points=False)
uri, new = sys.argv[1:]
table = lance.dataset(uri)
assert table.data_storage_version == "0.1"
assert table.schema.names == ["id", "kind"] and table.count_rows() == 3000
assert [one["version"] for one in table.versions()] == [1, 2]
table.cleanup_old_versions(retain_versions=2)
rows = pa.table({"id": [1]})
for action in (
    lambda: table.to_table(),
    lambda: table.to_table(filter="id = 3"),
    lambda: table.take([7]),
    lambda: table.delete("id = 3"),
    lambda: table.update({"id": "4"}),
    lambda: table.add_columns({"more": "id + 1"}),
    lambda: lance.write_dataset(rows, uri, mode="append"),
    lambda: lance.write_dataset(rows, uri, mode="overwrite"),
    lambda: lance.write_dataset(rows, new, data_storage_version="0.1"),
    lambda: lance.write_dataset(rows, new, data_storage_version="legacy"),
):
    try:
        action()
    except lance.errors.PluginNotFoundError as error:
        assert 'pip install "lance-core[legacy]"' in str(error), error
        print("named")
assert lance.dataset(uri).version == 2
assert not any(name.startswith("lance_core_legacy") for name in sys.modules)
"""


def test_data_files_name_the_extra_and_metadata_are_readable(tmp_path: Path) -> None:
    kinds = pa.array(["a", "b", "a"] * 1000).dictionary_encode()
    uri, new = str(tmp_path / "old.lance"), tmp_path / "new.lance"
    table = lance.write_dataset(
        pa.table({"id": range(3000), "kind": kinds}), uri, data_storage_version="0.1"
    )
    table.update_metadata({"seen": "yes"})
    before = sorted(Path(uri).rglob("*"))
    command = [sys.executable, "-c", PROGRAM, uri, str(new)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == ["named"] * 10
    assert not new.exists()
    assert sorted(Path(uri).rglob("*")) == before
