"""The main example does without Spark where there is no Java, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_without_java_the_same_is_done_and_checked(tmp_path: Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "absent")}
    done = subprocess.run(
        [sys.executable, "-m", "examples.flights", "--output", tmp_path / "kept"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Without Spark (there is no Java: install Java 17")
    assert "336,776 flights" in done.stdout
    assert "checked: every result equals" in done.stdout
    assert [line[:5] for line in done.stderr.splitlines()] == [
        f"[{i}/11]"[:5] for i in range(1, 12)
    ]
    kept = tmp_path / "kept"
    assert sorted(path.name for path in kept.iterdir()) == [
        "bronze",
        "delays-by-hour.png",
        "gold",
        "silver",
    ]
    tables = [path.relative_to(kept).as_posix() for path in kept.glob("*/*")]
    assert len(tables) == 9
    assert "silver/flights.lance" in tables
    assert (kept / "delays-by-hour.png").read_bytes().startswith(b"\x89PNG")
