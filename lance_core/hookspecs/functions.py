"""The descriptor of SQL functions.

What their planners are written with is above the plugins, in `lance_core.sql_functions`.
"""

from lance_core.function_spec import OPTION, PARAMETER_TYPES, REST, PlanFunction, SqlFunctionSpec

__all__ = ["OPTION", "PARAMETER_TYPES", "REST", "PlanFunction", "SqlFunctionSpec"]
