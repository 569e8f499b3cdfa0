"""Boxes, text and arrows as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

FONTS = {"sans": "system-ui, sans-serif", "mono": "ui-monospace, monospace"}
INK, FAINT = "#1f2933", "#66788a"
COLOURS = {
    "blue": ("#e3effb", "#3b78b5"),
    "green": ("#e4f4e8", "#3d8a55"),
    "yellow": ("#fdf3d6", "#a9822a"),
    "red": ("#fbe6e4", "#b5524a"),
    "grey": ("#eef1f4", "#8895a3"),
    "white": ("#ffffff", "#8895a3"),
}
"""Fill and border of boxes."""

MARKER = (
    'id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
)


@dataclass(frozen=True)
class Style:
    """How text looks; ``size`` is in pixels."""

    size: float = 13
    font: str = "sans"
    colour: str = INK
    weight: int = 400
    anchor: str = "start"


HEADING = Style(weight=600)
LABEL = Style()
NOTE = Style(size=11, colour=FAINT)
CODE = Style(font="mono")


@dataclass(frozen=True)
class Box:
    """A rectangle; ``x`` and ``y`` are of its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


class Canvas:
    """A drawing of fixed size. It has a background, so that it can be read on dark pages too."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._width, self._height, self._title = width, height, title
        self._parts: list[str] = []

    def text(self, x: float, y: float, line: str, style: Style) -> None:
        """One line; ``y`` is its base line."""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{FONTS[style.font]}" '
            f'font-size="{style.size:g}" font-weight="{style.weight}" '
            f'text-anchor="{style.anchor}" fill="{style.colour}">{escape(line)}</text>'
        )

    def box(
        self, box: Box, lines: Sequence[str] = (), colour: str = "white", style: Style = LABEL
    ) -> Box:
        """A box with centred lines: the first one in ``style``, those below it as notes."""
        fill, border = COLOURS[colour]
        self._parts.append(
            f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" '
            f'rx="4" fill="{fill}" stroke="{border}"/>'
        )
        x, y = box.middle
        top = y - 16 * (len(lines) - 1) / 2 + style.size / 3
        for number, line in enumerate(lines):
            shown = style if number == 0 else NOTE
            self.text(x, top + 16 * number, line, replace(shown, anchor="middle"))
        return box

    def bar(self, box: Box, colour: str, is_solid: bool) -> None:
        """A bar of a chart, in the border colour if it is solid."""
        fill, border = COLOURS[colour]
        self._parts.append(
            f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:.1f}" height="{box.height:g}" '
            f'rx="2" fill="{border if is_solid else fill}" stroke="{border}"/>'
        )

    def line(self, points: Sequence[tuple[float, float]], colour: str, *, is_dashed: bool) -> None:
        """A line through ``points``."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        )

    def dot(self, x: float, y: float, colour: str, *, is_solid: bool) -> None:
        """A point of a chart."""
        fill = colour if is_solid else "#fbfcfd"
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{colour}" '
            'stroke-width="1.5"/>'
        )

    def arrow(self, *points: tuple[float, float], label: str = "") -> None:
        """A line through ``points`` with a head at its end, and a label above its last point."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{FAINT}" stroke-width="1.3" '
            'marker-end="url(#head)"/>'
        )
        if label:
            x, y = points[-1]
            self.text(x + 6, y - 5, label, NOTE)

    def funnel(self, part: Box, whole: Box) -> None:
        """Two lines from the lower edge of ``part`` to the upper edge of ``whole``, its content."""
        for start, end in ((part.x, whole.x), (part.right, whole.right)):
            self._parts.append(
                f'<line x1="{start:g}" y1="{part.bottom:g}" x2="{end:g}" y2="{whole.y:g}" '
                f'stroke="{FAINT}" stroke-dasharray="2 3"/>'
            )

    def render(self) -> str:
        """The whole SVG file."""
        size = f'width="{self._width:g}" height="{self._height:g}"'
        view = f'viewBox="0 0 {self._width:g} {self._height:g}"'
        head = f'<path d="M0,0 L8,4 L0,8 z" fill="{FAINT}"/>'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
            f"<title>{escape(self._title)}</title>",
            f"<defs><marker {MARKER}>{head}</marker></defs>",
            f'<rect {size} rx="8" fill="#fbfcfd"/>',
            *self._parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def row(x: float, y: float, width: float, height: float, shares: Sequence[float]) -> list[Box]:
    """Boxes side by side, 6 apart, that fill ``width`` in the ratio of ``shares``."""
    unit = (width - 6 * (len(shares) - 1)) / sum(shares)
    boxes = []
    for share in shares:
        boxes.append(Box(x, y, unit * share, height))
        x += unit * share + 6
    return boxes
