"""Commands that look at, verify and repair Lance tables, and the functions behind them.

`verify` returns a `VerifyReport`; `plan_repair` says what can be done about its problems, and
`RepairPlan.apply` does it. `copy_table` copies a table with all its versions.
"""

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
