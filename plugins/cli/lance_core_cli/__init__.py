"""Commands that look at, verify and repair Lance tables, and the functions behind them.

`verify` returns a `VerifyReport`; `plan_repair` says what can be done about its problems, and
`RepairPlan.apply` does it. `copy_table` copies a table with all its versions.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_cli.copying.copy import CopyReport, copy_table
    from lance_core_cli.repairing.plan import RepairPlan, Step, plan_repair
    from lance_core_cli.verifying.problem import Problem, VerifyReport
    from lance_core_cli.verifying.verify import verify

__all__ = [
    "CopyReport",
    "Problem",
    "RepairPlan",
    "Step",
    "VerifyReport",
    "copy_table",
    "plan_repair",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name on first access: the plugin lookup imports this package everywhere."""
    modules = {
        "CopyReport": "copying.copy",
        "Problem": "verifying.problem",
        "RepairPlan": "repairing.plan",
        "Step": "repairing.plan",
        "VerifyReport": "verifying.problem",
        "copy_table": "copying.copy",
        "plan_repair": "repairing.plan",
        "verify": "verifying.verify",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"lance_core_cli.{modules[name]}"), name)
