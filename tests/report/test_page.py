"""The page of `lance-core inspect --html`, in Chromium: map, keyboard, colours and speed."""

from __future__ import annotations

import dataclasses
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core import LanceOperation
from lance_core.cli import main
from tests.report.browser import Page, running_browser

MANY = 100_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with running_browser() as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a table with 30 fragments, deleted rows, an index and a column that would be a script."""
    folder = tmp_path_factory.mktemp("report")
    rows = pa.table({"id": range(3000), "<script>harm = 1</script>": range(3000)})
    table = lance_core.write_dataset(rows, folder / "t.lance", max_rows_per_file=100)
    table.create_scalar_index("id", "BTREE")
    table.delete("id < 60")
    table.insert(rows[:7])
    assert main(["inspect", str(folder / "t.lance"), "--html", str(folder / "t.html")]) == 0
    return folder / "t.html"


def text(page: Page, name: str) -> str:
    return str(page.value(f"document.getElementById('{name}').textContent"))


def colours(page: Page) -> set[Any]:
    """The colours of the map, but for those between its cells."""
    listed = page.value(
        "(() => { const c = document.getElementById('map');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const s = new Set(); for (let i = 0; i < d.length; i += 4)"
        " if (d[i + 3] == 255) s.add([d[i], d[i + 1], d[i + 2]].join()); return [...s]; })()"
    )
    return set(listed)


def test_the_page_draws_its_map_and_asks_for_nothing(browser: Page, report: Path) -> None:
    browser.requests.clear()
    browser.messages.clear()
    browser.open(report)
    assert browser.requests == [report.as_uri()]
    assert browser.messages == []
    assert browser.value("typeof harm") == "undefined"
    assert "<script>harm" in str(browser.value("document.body.textContent"))
    assert (text(browser, "low"), text(browser, "high")) == ("7", "100")
    assert text(browser, "f-deleted") == "60 (60.0 %)"
    assert len(colours(browser)) >= 3


def test_the_page_can_be_used_by_keyboard_alone(browser: Page, report: Path) -> None:
    browser.open(report)
    active = "document.activeElement.id || document.activeElement.className || "
    active += "document.activeElement.name || document.activeElement.tagName"
    order = []
    for _ in range(12):
        browser.press("Tab", code=9)
        order.append(browser.value(active))
    assert order[0] == "skip"
    assert {"copy", "metric", "map", "fragment", "SUMMARY"} <= set(order)
    browser.value("document.getElementById('map').focus()")
    for key, code in (("ArrowRight", 39), ("ArrowRight", 39), ("ArrowLeft", 37)):
        browser.press(key, code=code)
    assert text(browser, "f-id") == "1"
    browser.press("End", code=35)
    assert (text(browser, "f-id"), text(browser, "f-rows")) == ("30", "7")
    assert text(browser, "f-created") == "4"
    browser.press("ArrowRight", code=39)
    assert text(browser, "f-id") == "30"
    browser.press("Home", code=36)
    assert text(browser, "f-id") == "0"
    browser.value("document.querySelector('input[name=metric]').focus()")
    browser.press("ArrowRight", code=39)
    browser.press("ArrowRight", code=39)
    assert (text(browser, "low"), text(browser, "high")) == ("0 %", "60.0 %")


def test_a_click_chooses_a_fragment(browser: Page, report: Path) -> None:
    browser.open(report)
    box = browser.value(
        "(() => { const m = document.getElementById('map'); m.scrollIntoView();"
        "const b = m.getBoundingClientRect(); return [b.left, b.top, grid.unit, grid.across]; })()"
    )
    left, top, unit, across = box
    browser.click(left + 1.5 * unit, top + 1.5 * unit)
    assert text(browser, "f-id") == str(int(across) + 1)
    assert browser.value("picker.value") == str(int(across) + 2)


def test_the_page_has_the_colours_that_the_user_prefers(
    browser: Page, report: Path, tmp_path: Path
) -> None:
    seen = []
    for dark in (False, True):
        browser.open(report, dark=dark)
        seen.append(colours(browser))
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        ink = browser.value("getComputedStyle(document.body).color")
        assert contrast(ground, ink) > 7
        shot = tmp_path / "shot.png"
        browser.screenshot(shot)
        width, height = struct.unpack(">II", shot.read_bytes()[16:24])
        assert (width, height > 900) == (1200, True)
    assert seen[0] != seen[1]


def test_the_page_fits_a_narrow_window(browser: Page, report: Path) -> None:
    browser.open(report, width=420)
    assert browser.value("document.documentElement.scrollWidth") == 420


def test_a_hundred_thousand_fragments_take_seconds(browser: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    uri = str(tmp_path / "many.lance")
    table = lance_core.write_dataset(pa.table({"id": range(1000)}), uri)
    part = table.get_fragments()[0].metadata
    sizes = rng.integers(1, 1000, MANY)
    parts = [
        dataclasses.replace(part, id=number + 1, physical_rows=int(size))
        for number, size in enumerate(sizes)
    ]
    lance_core.LanceDataset.commit(uri, LanceOperation.Overwrite(table.schema, parts))
    file = tmp_path / "many.html"
    start = time.process_time()
    assert main(["inspect", uri, "--html", str(file)]) == 0
    assert time.process_time() - start < 10
    assert file.stat().st_size < 5 << 20
    browser.open(file)
    milliseconds = float(browser.value("document.documentElement.dataset.ready"))
    assert milliseconds < 3000
    browser.value("document.getElementById('map').focus()")
    browser.press("End", code=35)
    assert text(browser, "f-rows") == f"{int(sizes[-1]):,}"
    assert browser.value("columns.rows.reduce((a, b) => a + b, 0)") == int(sizes.sum())


def contrast(first: str, second: str) -> float:
    """The ratio of contrast of two colours, from 1 to 21, as accessibility guidelines define it."""
    lights = []
    for colour in (first, second):
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        lights.append(sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)
