"""The layers of the core, as the contract of imports has them, and the plugins beside them."""

from __future__ import annotations

import configparser
import re
from dataclasses import replace
from pathlib import Path

from scripts.drawings.canvas import CODE, HEADING, LABEL, NOTE, Box, Canvas, row

ROOT = Path(__file__).parents[2]
SECTION = "importlinter:contract:layers"
ROLES = {
    "cli": "the command lance-core",
    "dataset": "open tables: read, write, maintain",
    "plugins": "find and check plugins",
    "hookspecs": "hooks, surface of plugins",
    "datafile": "one data file",
    "commits": "make a version final",
    "encodings": "buffers ↔ Arrow arrays",
    "table": "one version, as values",
    "store": "bytes at paths",
    "schema": "fields, ids and types",
    "concurrency": "pools, caches, fork safety",
    "_pb": "generated messages",
    "errors": "the exception tree",
}
"""What is drawn. Other modules of the contract are thin, and are left out."""

COLOURS = {"dataset": "green", "hookspecs": "red", "plugins": "red"}
CALLERS = {("spark",): "calls the public API", ("explorer", "testing"): "test plugins"}
"""Plugins that call the core, rather than being called by it."""
SHARED = {"remote": "shared by clouds"}
"""What plugins use of each other."""

UNIT, GAP = 46, 10


def layers() -> list[list[str]]:
    """The drawn modules of each layer, from the top."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    lines = contracts[SECTION]["layers"].strip().splitlines()
    named = [[name for name in re.findall(r"\w+", line) if name in ROLES] for line in lines]
    found = [line for line in named if line]
    missing = ROLES.keys() - {name for line in found for name in line}
    assert not missing, f"the contract of imports no longer has {sorted(missing)}"
    return found


def plugins() -> list[str]:
    """The distributions in ``plugins/``."""
    return sorted(path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml"))


def draw() -> str:
    """The drawing, as SVG."""
    found = layers()
    height = 76 + len(found) * (UNIT + GAP) + 30
    canvas = Canvas(760, height, "The layers of lance-core")
    tops = {name: 66 + at * (UNIT + GAP) for at, line in enumerate(found) for name in line}
    canvas.text(30, 30, "lance_core", replace(CODE, weight=600))
    canvas.text(30, 48, "a layer imports only from those below it", NOTE)
    for line in found:
        for box, name in zip(row(30, tops[line[0]], 510, UNIT, [1] * len(line)), line, strict=True):
            role = ROLES[name]
            canvas.box(box, [name, role], colour=COLOURS.get(name, "blue"), style=CODE)
    canvas.text(610, 30, "plugins", HEADING)
    canvas.text(610, 48, "distributions of their own", NOTE)
    for layer, (names, role) in zip(("cli", "dataset"), CALLERS.items(), strict=True):
        caller = Box(610, tops[layer], 120, UNIT)
        canvas.box(caller, [", ".join(names), role], colour="yellow")
        canvas.arrow((610, caller.middle[1]), (546, caller.middle[1]))
    others = sorted(set(plugins()).difference(SHARED, *CALLERS))
    hooks = tops["hookspecs"] + UNIT / 2
    offered = Box(610, tops["plugins"], 120, 26 + 18 * len(others))
    canvas.box(offered, colour="yellow")
    for at, name in enumerate(others):
        canvas.text(670, offered.y + 24 + 18 * at, name, replace(LABEL, anchor="middle"))
    for name, role in SHARED.items():
        below = offered.y + offered.height + GAP
        canvas.box(Box(610, below, 120, UNIT), [name, role], colour="yellow")
    canvas.arrow((610, hooks), (546, hooks), label="by hooks")
    return canvas.render()
