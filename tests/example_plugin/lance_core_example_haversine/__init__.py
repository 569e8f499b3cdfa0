"""An SQL function: ``dataset.to_table(filter="haversine(lat, lon, 59.9, 10.7) < 100")``.

This module has the descriptor only; the planner is imported at the first call.
"""

from __future__ import annotations

from lance_core.hookspecs import SqlFunctionSpec, hookimpl

SPEC = SqlFunctionSpec(
    name="haversine",
    plan="lance_core_example_haversine.haversine:haversine",
    parameters="number, number, number, number",
    summary="The distance in kilometres of two points, each a latitude and a longitude in degrees.",
    aliases=("distance_km",),
    group="geography",
)


@hookimpl
def lance_sql_functions() -> list[SqlFunctionSpec]:
    """The function ``haversine``."""
    return [SPEC]
