"""What a run is described by: the command, the time, the machine and the compared libraries."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

LIBRARIES = ("pylance", "pyarrow", "vortex-data", "numpy", "pyspark")


def describe(module: str, arguments: list[str]) -> dict[str, object]:
    """The description of a run of ``python -m module`` that begins now."""
    return {
        "command": " ".join(["python", "-m", module, *arguments]),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GB of memory",
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "kernels": _has_kernels(),
        "libraries": {name: found for name in LIBRARIES if (found := _installed(name))},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _gigabytes() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _has_kernels() -> bool:
    """Whether the compiled kernels are used."""
    disabled = os.environ.get("LANCE_CORE_DISABLE_PLUGINS", "").split(",")
    return _installed("lance-core-kernels") is not None and "kernels" not in disabled
