"""A user who knows only what is on the screen gets from an error to a table that can be read."""

from __future__ import annotations

import re
import shlex
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main
from tests.each_case import each_case

ROWS = pa.table({"id": range(600), "text": [f"text {n}" for n in range(600)]})


def data_file(uri: str, fragment: int) -> Path:
    (file,) = lance_core.dataset(uri).get_fragments()[fragment].metadata.files
    return Path(uri, "data", file.path)


def newest_manifest(uri: str) -> Path:
    return min(Path(uri, "_versions").glob("*.manifest"))  # names count down


def index_file(uri: str) -> Path:
    return next(Path(uri, "_indices").glob("*/page_lookup.lance"))


DAMAGES: dict[str, Callable[[str], object]] = {
    "a damaged page": lambda uri: spoil(data_file(uri, 1)),
    "a missing file": lambda uri: data_file(uri, 2).unlink(),
    "a file that was cut": lambda uri: data_file(uri, 0).write_bytes(b"short"),
    "a damaged manifest": lambda uri: newest_manifest(uri).write_bytes(b"no manifest at all"),
    "a damaged index": lambda uri: spoil(index_file(uri)),
}


def spoil(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(bytes(byte ^ 0xFF for byte in data[:200]) + data[200:])


def read(uri: str) -> str:
    """What a user sees of reads: a traceback, or warnings, or nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = lance_core.dataset(uri)
            table.to_table()
            table.to_table(filter="id = 77")
        except Exception:
            return traceback.format_exc()
    return "\n".join(str(warning.message) for warning in caught)


def next_command(text: str, name: str, uri: str) -> list[str]:
    """The arguments of the command ``lance-core NAME`` in a text; a user puts in the table."""
    match = re.search(rf"lance-core ({name} \S+)", text)
    assert match is not None, text
    return shlex.split(match[1].replace("TABLE", uri))


@each_case("damage", list(DAMAGES))
def test_words_lead_from_each_error_to_a_table_that_can_be_read(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = str(tmp_path / "events.lance")
    table = lance_core.write_dataset(ROWS, uri, max_rows_per_file=200)
    table.create_scalar_index("id", "BTREE")
    del table
    DAMAGES[damage](uri)
    seen = read(uri)
    assert main([*next_command(seen, "verify", uri), "--level", "full"]) == 1
    repair = next_command(capsys.readouterr().err, "repair", uri)
    status = main(repair)
    shown = capsys.readouterr()
    offers = re.findall(r"^with (--\S+ \S+):", shown.out, re.MULTILINE)
    if status:  # something must be given up: what loses least is offered last
        assert "choose what to give up" in shown.err
        assert offers
        repair += offers[-1].split()
    else:
        assert "add --apply" in shown.out
    assert main([*repair, "--apply"]) == 0
    assert "is the repaired table" in capsys.readouterr().out
    assert read(uri) == ""
    rows = lance_core.dataset(uri).count_rows()
    assert rows == (400 if damage in {"a missing file", "a file that was cut"} else 600)
    if main(["verify", uri]) == 1:  # the manifest that cannot be opened is still there
        shown = capsys.readouterr()
        assert "is whole, but other versions or tags are damaged" in shown.out
        main(repair := next_command(shown.err, "repair", uri))
        (offer,) = re.findall(r"^with (--\S+ \S+):", capsys.readouterr().out, re.MULTILINE)
        assert main([*repair, *offer.split(), "--apply"]) == 0
    assert main(["verify", uri]) == 0
