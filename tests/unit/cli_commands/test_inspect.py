"""What a table has: in words, as JSON, as a page, and in notebooks."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core import LanceOperation
from lance_core.cli import main
from lance_core.plugins import manager as managers
from lance_core.plugins.manager import PluginManager
from lance_core_cli.inspecting import advice, history, words
from lance_core_cli.inspecting.charts import area_chart
from lance_core_cli.inspecting.facts import inspect
from lance_core_cli.inspecting.page import page
from lance_core_cli.inspecting.units import byte_text, counted, share_text

NAMES = ("id", "text", "point", "<script>alert(1)</script>", "bad\n\x1b[2J")
VOID = {"meta", "input", "br", "line", "polyline", "polygon", "circle", "rect"}


def rows(count: int) -> pa.Table:
    numbers = list(range(count))
    points = [{"x": n * 0.5, "vectors": [n] * (n % 3)} for n in numbers]
    texts = [f"a longer text of number {n % 7}" for n in numbers]
    return pa.table(dict(zip(NAMES, (numbers, texts, points, numbers, numbers), strict=True)))


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """12 fragments, one with deleted rows, an index that lacks rows, a tag."""
    path = str(tmp_path / "events.lance")
    table = lance_core.write_dataset(rows(100), path, max_rows_per_file=50)
    table.create_scalar_index("id", "BTREE")
    for _ in range(10):
        table.insert(rows(20))
    table.delete("id >= 20 AND id < 30")
    table.tags.create("first", 2)
    return path


class Reader(HTMLParser):
    """Collects the elements of a page; they must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def column(data: Any, name: str) -> list[int]:
    packed = data["columns"][name]
    raw = zlib.decompress(base64.b64decode(packed["bytes"]))
    return [int(value) for value in np.frombuffer(raw, f"<{packed['type']}")]


def test_the_facts_are_those_of_the_table(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", uri, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    facts = json.loads(line)
    assert (facts["rows"], facts["deleted_rows"], facts["version"]) == (290, 10, 13)
    assert facts["fragments"]["count"] == 12
    assert facts["fragments"]["with_deleted_rows"] == 1
    assert facts["fragments"]["rows"] == {"min": 20, "median": 20, "max": 50}
    assert facts["tags"] == {"first": 2}
    operations = [version["operation"] for version in facts["versions"]]
    assert operations == ["Overwrite", "CreateIndex", *["Append"] * 10, "Delete"]
    top = [field for field in facts["columns"] if not field["depth"]]
    assert [field["name"] for field in top] == list(NAMES)
    (index,) = facts["indices"]
    assert (index["name"], index["rows"], index["of_rows"]) == ("id_idx", 90, 290)
    table = lance_core.dataset(uri)
    stored = {field.id: field.bytes_on_disk for field in table.stats.data_stats().fields}
    assert sum(field["bytes"] for field in top) == sum(stored.values())
    assert facts["columns"][0]["bytes"] == stored[0]
    assert all(field["memory_bytes"] > 0 for field in top)
    commands = [item["command"] for item in facts["advice"]]
    assert commands == [f"lance-core compact {uri}", f"lance-core index {uri} --update id_idx"]


def test_what_advice_says_can_be_typed(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    for item in inspect(lance_core.dataset(uri)).advice:
        program, *arguments = item.command.split()
        assert program == "lance-core"
        assert main(arguments) == 0
    capsys.readouterr()
    assert main(["inspect", uri]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "nothing to do: the table is in good order"


def test_a_person_reads_lines_without_control_characters(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", uri]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[0].startswith(f"{uri}: version 13, 20")
    assert lines[1].startswith("290 rows (3.3 % deleted), ")
    assert any(line.startswith("rows of versions 1 to 13") for line in lines)
    assert any(line.startswith("  bad\\n\\x1b[2J  ") for line in lines)
    assert "what to do" in lines
    wide = pa.table({f"{'c' * 50}{i}": [i] for i in range(words.MAX_COLUMNS + 3)})
    lance_core.write_dataset(wide, f"{uri}-wide")
    assert main(["inspect", f"{uri}-wide"]) == 0
    assert "  and 3 more" in capsys.readouterr().out.splitlines()


def test_the_page_is_one_file_whose_names_are_escaped(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.html"
    assert main(["inspect", uri, "--html", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}; open it in a browser\n"
    text = file.read_text("utf-8")
    read = Reader(text)
    scripts = [attributes for tag, attributes in read.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert not {"link", "img", "iframe"} & {tag for tag, _ in read.elements}
    names = {name for _, attributes in read.elements for name in attributes}
    assert not {"src", "href", "onclick", "onload"} & names - {"href"}
    assert [a["href"] for tag, a in read.elements if "href" in a] == ["#main"]
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\x1b" not in text
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert column(data, "ids") == list(range(12))
    assert column(data, "rows") == [50, 50, *[20] * 10]
    assert column(data, "deleted") == [10, *[0] * 11]
    assert column(data, "created") == [1, 1, *range(3, 13)]
    sizes = [f.metadata.files[0].file_size_bytes for f in lance_core.dataset(uri).get_fragments()]
    assert column(data, "bytes") == sizes


def test_a_hundred_thousand_fragments_are_counted_as_arrays(tmp_path: Path) -> None:
    table = lance_core.write_dataset(pa.table({"id": range(10)}), tmp_path)
    part = table.get_fragments()[0].metadata
    parts = [dataclasses.replace(part, id=number) for number in range(1, 3001)]
    many = lance_core.LanceDataset.commit(tmp_path, LanceOperation.Overwrite(table.schema, parts))
    facts = inspect(lance_core.dataset(tmp_path))
    assert (facts.rows, len(facts.fragments), many.version) == (30_000, 3000, 2)
    assert facts.sample.fragments < 50
    text = page(facts)
    assert len(text) < 60_000
    assert "Estimated by the files of 48 of 3,000 fragments" in text
    decoded = lance_core.dataset(tmp_path)
    inspect(decoded)
    assert len(decoded.snapshot.manifest.fragments._decoded) < 200


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = lance_core.dataset(uri)
    file = Path(uri, "data", table.get_fragments()[3].metadata.files[0].path)
    file.write_bytes(b"nothing that a file has")
    Path(uri, "_refs/tags").joinpath(next(Path(uri, "_refs/tags").iterdir())).write_text("{")
    oldest = max(Path(uri, "_versions").glob("*.manifest"))  # names count down
    oldest.write_bytes(b"no manifest")
    assert main(["inspect", uri]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert sum(line.startswith("could not be read: ") for line in lines) >= 3
    assert any(file.name in line for line in lines)
    assert f"    lance-core verify {uri} --level full" in lines
    assert "Could not be read" in page(inspect(lance_core.dataset(uri)))


def test_tables_without_rows_or_versions_to_compare_have_a_page(tmp_path: Path) -> None:
    empty = lance_core.write_dataset(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "t")
    Reader(page(inspect(empty)))
    empty.insert(pa.table({"x": [1]}))
    Reader(page(inspect(empty)))
    assert area_chart("Rows", [7], [0], str).count("<circle") == 1


def test_versions_beyond_the_limit_are_only_counted(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_VERSIONS", 4)
    monkeypatch.setattr(advice, "MANY_VERSIONS", 10)
    facts = inspect(lance_core.dataset(uri))
    assert ([v.version for v in facts.versions], facts.older_versions) == ([10, 11, 12, 13], 9)
    assert facts.fragments.created.tolist() == [*[10] * 10, 11, 12]
    assert facts.advice[-1].command == f"lance-core cleanup {uri}"
    assert "9 older versions were not read" in page(facts)


def test_old_files_have_bytes_and_no_encodings(tmp_path: Path) -> None:
    for version, pages in (("0.1", 0), ("2.0", 1)):
        path = tmp_path / version
        table = lance_core.write_dataset(rows(10), path, data_storage_version=version)
        (field, *_) = inspect(table).columns
        assert field.pages == pages
        assert bool(field.encodings) == bool(pages)


def test_a_notebook_shows_a_table_without_reading(uri: str) -> None:
    table = lance_core.dataset(uri)
    shutil.rmtree(Path(uri, "data"))
    html = table._repr_html_()
    assert html is not None
    Reader(html)
    assert "&lt;script&gt;" in html
    assert "rows <b>290</b>, deleted <b>3.3 %</b>" in html
    assert html.count("<rect") == 13


def test_without_the_plugin_a_notebook_shows_the_text(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managers, "_manager", PluginManager(entry_points=False))
    table = lance_core.dataset(uri)
    assert table._repr_html_() is None
    assert "290" in repr(table)


def test_numbers_are_written_as_people_read_them() -> None:
    assert [byte_text(n) for n in (0, 1023, 1536, 5 << 30)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 GiB",
    ]
    assert [share_text(x) for x in (0, 0.0001, 0.5, 0.9999, 1)] == [
        *("0 %", "< 0.1 %", "50.0 %", "> 99.9 %", "100 %"),
    ]
    assert [counted(n, "row") for n in (1, 2000)] == ["1 row", "2,000 rows"]
