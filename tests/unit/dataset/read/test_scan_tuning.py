"""Each number that steers scans says what holds it in place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from lance_core.dataset.read import scan_tuning

ROOT = Path(__file__).parents[4]
TUNING = Path(scan_tuning.__file__)


def test_each_number_names_its_benchmark_or_what_it_bounds() -> None:
    benchmarks = (ROOT / "benchmarks/README.md").read_text("utf-8") + "`bench-cloud`"
    count = 0
    for group in ast.parse(TUNING.read_text("utf-8")).body:
        if not isinstance(group, ast.ClassDef) or group.name == "ScanTuning":
            continue
        waiting: list[str] = []
        for node in group.body[1:]:
            if isinstance(node, ast.AnnAssign):
                waiting.append(ast.unparse(node.target))
                count += 1
                continue
            assert isinstance(node, ast.Expr)
            text = " ".join(ast.literal_eval(node.value).split())
            names = re.findall(r"Benchmarks?: ((?:``[a-z-]+``(?:, )?)+)", text)
            assert names or "Bounds " in text, waiting
            for name in re.findall(r"``([a-z-]+)``", "".join(names)):
                assert f"`{name}`" in benchmarks, name
            waiting = []
        assert not waiting, f"{group.name} says nothing of {waiting}"
    assert count > 50
