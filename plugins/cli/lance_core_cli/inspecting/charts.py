"""Charts of the page, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence

WIDTH, HEIGHT, TOP, BOTTOM = 340, 120, 8, 22
MAX_DOTS = 40
"""With more versions, their dots would be a line."""


def area_chart(
    title: str, numbers: Sequence[int], values: Sequence[int], text: Callable[[int], str]
) -> str:
    """One value for each version, from left to right; ``text`` is how a person reads a value."""
    most = max(1, *values)
    height = HEIGHT - TOP - BOTTOM
    step = WIDTH / max(1, len(values) - 1)
    points = [(i * step, TOP + height * (1 - value / most)) for i, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = HEIGHT - BOTTOM
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3">'
        f"<title>version {number}: {text(value)}</title></circle>"
        for (x, y), number, value in zip(points, numbers, values, strict=True)
        if len(points) <= MAX_DOTS
    )
    label = f"{title}: from {text(values[0])} to {text(values[-1])}, at most {text(max(values))}"
    return (
        f"<figure style='margin:0'><h3>{title}: {text(values[-1])}</h3>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f'<polygon class="area" points="0,{base} {line} {WIDTH},{base}"/>'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{base}" y2="{base}"/>'
        f'<polyline class="line" points="{line}"/>{dots}'
        f'<text x="0" y="{HEIGHT - 5}">version {numbers[0]}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 5}" text-anchor="end">{numbers[-1]}</text>'
        "</svg></figure>"
    )
