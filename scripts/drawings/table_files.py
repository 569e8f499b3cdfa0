"""The files of a table with two versions."""

from __future__ import annotations

from dataclasses import replace

from scripts.drawings.canvas import CODE, NOTE, Box, Canvas


def draw() -> str:
    """The drawing, as SVG."""
    canvas = Canvas(760, 430, "The files of a table")
    canvas.text(30, 32, "events.lance/", replace(CODE, weight=600))
    canvas.text(30, 50, "version 2 appended rows and deleted one", NOTE)
    for x, folder, role in (
        (30, "_versions/", "what a version consists of"),
        (290, "data/", "columns of rows, never changed"),
        (550, "_deletions/", "which rows are gone"),
    ):
        canvas.text(x, 84, folder, CODE)
        canvas.text(x, 100, role, NOTE)
    first = canvas.box(
        Box(30, 120, 180, 62), ["…614.manifest", "version 1", "fragment 0"], colour="green"
    )
    second = canvas.box(
        Box(30, 212, 180, 78),
        ["…613.manifest", "version 2, the latest", "fragment 0, deletions", "fragment 1"],
        colour="green",
    )
    old = canvas.box(
        Box(290, 120, 180, 62), ["0110…a3.lance", "fragment 0", "id · city · amount"], colour="blue"
    )
    new = canvas.box(
        Box(290, 228, 180, 62), ["1011…7c.lance", "fragment 1", "id · city · amount"], colour="blue"
    )
    gone = canvas.box(
        Box(550, 174, 180, 62), ["0-1-84….arrow", "fragment 0", "row 17"], colour="red"
    )
    canvas.arrow((first.right, 151), (old.x, 151))
    canvas.arrow((second.right, 245), (250, 245), (250, 165), (old.x, 165))
    canvas.arrow((second.right, 259), (new.x, 259))
    canvas.arrow((second.right, 226), (270, 226), (270, 205), (gone.x, 205))
    notes = Box(30, 330, 700, 76)
    canvas.box(notes, colour="grey")
    for at, (name, role) in enumerate(
        (
            (
                "_transactions/1-6f….txn",
                "what the commit of version 2 did, for writers that lost the race",
            ),
            ("_refs/tags/*.json", "names of versions; _refs/branches/*.json: where branches begin"),
            ("tree/<branch>/", "the files of a branch, laid out as a table"),
        )
    ):
        canvas.text(44, 352 + 20 * at, name, CODE)
        canvas.text(240, 352 + 20 * at, role, NOTE)
    return canvas.render()
