"""The chart of delays by hour, from the table of gold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from examples.flights.tables import Lake

DRY, WET, BARS, TEXT, FAINT = "#c2781c", "#1f5fa8", "#d3d9e0", "#26323f", "#6b7785"
LEAST_FLIGHTS = 30
"""Hours with fewer flights have no mean worth showing."""


def draw(lake: Lake, path: Path) -> None:
    """Draw mean delays of departures, in dry and in wet hours, above the number of flights."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    hours = lance.dataset(lake.uri("gold", "hours")).to_table()
    hours = hours.filter(pc.greater_equal(hours["flights"], LEAST_FLIGHTS)).sort_by("hour")
    style = {"font.size": 11, "text.color": TEXT, "axes.labelcolor": FAINT, "axes.edgecolor": BARS}
    with mpl.rc_context({**style, "xtick.color": FAINT, "ytick.color": FAINT}):
        figure, (delays, flights) = plt.subplots(
            2, 1, sharex=True, figsize=(8.6, 5.4), dpi=150, height_ratios=[3.2, 1]
        )
        _delays(delays, hours)
        _flights(flights, hours)
        for axes in (delays, flights):
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(length=0)
            axes.grid(axis="y", color="#e9ecf0")
            axes.set_axisbelow(True)
        title = "Delays grow as the day goes on, and rain or snow doubles them"
        figure.suptitle(title, x=0.075, y=0.965, ha="left", fontsize=14, fontweight="bold")
        figure.text(
            0.075, 0.895, "Mean delay of departures from New York in 2013, minutes", color=FAINT
        )
        figure.subplots_adjust(left=0.075, right=0.975, top=0.87, bottom=0.085, hspace=0.26)
        figure.savefig(path)
        plt.close(figure)


def _delays(axes: Any, hours: pa.Table) -> None:
    for wet, colour, name in ((True, WET, "rain or snow"), (False, DRY, "dry")):
        rows = hours.filter(pc.equal(hours["wet"], wet))
        x, y = rows["hour"].to_pylist(), rows["dep_delay"].to_pylist()
        axes.plot(x, y, color=colour, linewidth=2.4, marker="o", markersize=4.5, clip_on=False)
        peak = max(zip(y, x, strict=True))
        label = {"xytext": (7, 5), "textcoords": "offset points", "fontweight": "bold"}
        axes.annotate(name, (peak[1], peak[0]), color=colour, **label)
    axes.set_ylim(bottom=0)


def _flights(axes: Any, hours: pa.Table) -> None:
    counts = hours.group_by("hour").aggregate([("flights", "sum")]).sort_by("hour")
    x = counts["hour"].to_pylist()
    thousands = [count / 1000 for count in counts["flights_sum"].to_pylist()]
    axes.bar(x, thousands, color=BARS, width=0.72)
    axes.set_title("Flights by scheduled hour, thousands", loc="left", fontsize=11, color=FAINT)
    shown = [hour for hour in x if hour % 2 == 0]
    axes.set_xticks(shown, [f"{hour}:00" for hour in shown])
    axes.set_xlim(min(x) - 0.6, max(x) + 0.6)
