"""Other numbers for scans, so that small tables have many windows, runs and late reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lance_core.dataset.read import scan_tuning


def tune(monkeypatch: pytest.MonkeyPatch, **groups: dict[str, Any]) -> None:
    """Replace numbers of `ScanTuning` until the end of a test: by group, then by name."""
    now = scan_tuning.tuning()
    changed = {name: replace(getattr(now, name), **numbers) for name, numbers in groups.items()}
    monkeypatch.setattr(scan_tuning, "TUNING", replace(now, **changed))
