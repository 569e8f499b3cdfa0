"""What observers get of a scan: its counters, and the attributes of its span."""

from __future__ import annotations

from lance_core.dataset.read.scan_metrics import ScanMetrics, StepMetrics
from lance_core.observation import count


def counted(metrics: ScanMetrics) -> dict[str, int]:
    """Add what ``metrics`` has to the counters of observers; returns the attributes of the span."""
    statistics = metrics.statistics()
    rows, rows_read = (statistics.all_counts[name] for name in ("output_rows", "rows_scanned"))
    count("lance.scans")
    count("lance.scan.rows", rows)
    count("lance.scan.rows_read", rows_read)
    count("lance.scan.bytes", statistics.bytes_read)
    for name, step in vars(metrics).items():
        if isinstance(step, StepMetrics) and step.seconds:
            count("lance.scan.step.time", step.seconds, step=name)
    return {
        "rows": rows,
        "rows_read": rows_read,
        "bytes": statistics.bytes_read,
        "requests": statistics.requests,
        "fragments": statistics.all_counts["fragments_scanned"],
    }
