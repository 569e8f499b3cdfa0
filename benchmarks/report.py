"""One line for each measurement: medians, and ratios, mostly to pylance (above 1 is faster).

``cpu`` is the ratio of processor time, to which more threads bring no advantage.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
    ) -> None:
        """Add a comparison; ``bar``: the minimum ratio to ``against``."""
        medians = {subject: timing.median for subject, timing in timings.items()}
        both = against in medians and OURS in medians
        ratio = medians[against] / medians[OURS] if both else None
        cells = [f"{subject} {1000 * seconds:9.3f} ms" for subject, seconds in medians.items()]
        if ratio is not None:
            cells.append(f"ratio {ratio:5.2f}")
            cells.append(f"cpu {_processor_ratio(timings, against)}")
        if bar is not None and ratio is not None:
            cells.append(f"(bar {bar:g}{'' if ratio >= bar else ', MISSED'})")
            if ratio < bar:
                self.missed.append(f"{name}: {ratio:.2f} < {bar:g}")
        self.say(name, "  ".join(cells), medians=medians, ratio=ratio, bar=bar)

    def note(self, name: str, value: float, unit: str, most: float | None = None) -> None:
        """Add a single figure; ``most``: its maximum."""
        text = f"{value:10.1f} {unit}"
        if most is not None:
            text += f"  (at most {most:g}{'' if value <= most else ', MISSED'})"
            if value > most:
                self.missed.append(f"{name}: {value:.1f} > {most:g} {unit}")
        self.say(name, text, value=value, unit=unit, most=most)

    def say(self, name: str, text: str, **values: object) -> None:
        """Print a line, and record ``values`` for the JSON file."""
        self.lines.append({"name": name, **values})
        sys.stdout.write(f"{name:42} {text}\n")
        sys.stdout.flush()

    def finish(self, path: Path | None) -> int:
        """Write all figures as JSON if ``path`` is given; return the number of missed bars."""
        if path is not None:
            path.write_text(json.dumps(self.lines, indent=1))
        verdict = "all bars met" if not self.missed else "missed: " + "; ".join(self.missed)
        sys.stdout.write(f"\n{verdict}\n")
        return len(self.missed)


def _processor_ratio(timings: Mapping[str, Timing], against: str) -> str:
    """The ratio of minimum processor times, which other processes disturb less than medians."""
    ours, other = timings[OURS].processor, timings[against].processor
    if not ours or not other or min(ours) < 1e-4:
        return "    -"
    return f"{min(other) / min(ours):5.2f}"
