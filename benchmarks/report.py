"""One line for each measurement: medians, and ratios, mostly to pylance (above 1 is faster).

``cpu`` is the ratio of processor time, to which more threads bring no advantage.

A JSON file has all figures, each with the number of its run. A run that is written to a file of
other runs replaces the figures of the same name, so a full benchmark can be run in parts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Timing

OURS, PEER = "lance_core", "pylance"


@dataclass
class Report:
    """Prints each line when it is added, and lists missed bars at the end."""

    lines: list[dict[str, object]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        timings: Mapping[str, Timing],
        bar: float | None = None,
        against: str = PEER,
        *,
        remark: str = "",
        **values: object,
    ) -> None:
        """Add a comparison; ``bar``: the minimum ratio to ``against``.

        ``remark`` is printed, and ``values`` are recorded.
        """
        medians = {subject: timing.median for subject, timing in timings.items()}
        both = against in medians and OURS in medians
        ratio = medians[against] / medians[OURS] if both else None
        cells = [f"{subject} {1000 * seconds:9.3f} ms" for subject, seconds in medians.items()]
        if ratio is not None:
            cells.append(f"ratio {ratio:5.2f}")
            cells.append(f"cpu {_processor_ratio(timings, against)}")
            cells.append(self._verdict(name, ratio, bar))
        used = {name: min(timing.processor) for name, timing in timings.items() if timing.processor}
        figures = {"medians": medians, "processor": used, "ratio": ratio, "bar": bar}
        self.say(name, "  ".join(cells) + remark, **figures, **values)

    def note(self, name: str, value: float, unit: str, most: float | None = None) -> None:
        """Add a single figure; ``most``: its maximum."""
        shown = f"{value:.1f}" if value > 10 else f"{value:.3f}"
        text = f"{shown:>10} {unit}"
        if most is not None:
            text += f"  (at most {most:g}{'' if value <= most else ', MISSED'})"
            if value > most:
                self.missed.append(f"{name}: {shown} > {most:g} {unit}")
        self.say(name, text, value=value, unit=unit, most=most)

    def ratio(self, name: str, value: float, bar: float | None = None) -> None:
        """Add a ratio of other figures; ``bar``: its minimum."""
        text = f"ratio {value:5.2f}  {self._verdict(name, value, bar)}"
        self.say(name, text, ratio=value, bar=bar)

    def _verdict(self, name: str, ratio: float, bar: float | None) -> str:
        """What is printed about the bar; a missed one is recorded."""
        if bar is None:
            return ""
        if ratio < bar:
            self.missed.append(f"{name}: {ratio:.2f} < {bar:g}")
        return f"(bar {bar:g}{'' if ratio >= bar else ', MISSED'})"

    def say(self, name: str, text: str, **values: object) -> None:
        """Print a line, and record ``values`` for the JSON file."""
        self.lines.append({"name": name, **values})
        sys.stdout.write(f"{name:46} {text.rstrip()}\n")
        sys.stdout.flush()

    def save(self, path: Path, run: Mapping[str, object]) -> None:
        """Add all figures to a JSON file; ``run``: what ran, when and where."""
        old = json.loads(path.read_text()) if path.exists() else {"runs": [], "figures": []}
        path.write_text(json.dumps(merged(old, run, self.lines), indent=1) + "\n")

    def finish(self) -> int:
        """Print the missed bars, and return their number."""
        verdict = "all bars met" if not self.missed else "missed: " + "; ".join(self.missed)
        sys.stdout.write(f"\n{verdict}\n")
        return len(self.missed)


def merged(
    old: Mapping[str, Any], run: Mapping[str, object], lines: list[dict[str, object]]
) -> dict[str, Any]:
    """The content of a JSON file after a run; runs without figures are removed."""
    new = {line["name"] for line in lines}
    kept = [line for line in old["figures"] if line["name"] not in new]
    numbers = sorted({line["run"] for line in kept})
    runs = [old["runs"][number] for number in numbers]
    figures = [line | {"run": numbers.index(line["run"])} for line in kept]
    figures += [line | {"run": len(runs)} for line in lines]
    return {"runs": [*runs, dict(run)], "figures": figures}


def _processor_ratio(timings: Mapping[str, Timing], against: str) -> str:
    """The ratio of minimum processor times, which other processes disturb less than medians."""
    ours, other = timings[OURS].processor, timings[against].processor
    if not ours or not other or min(ours) < 1e-4:
        return "    -"
    return f"{min(other) / min(ours):5.2f}"
