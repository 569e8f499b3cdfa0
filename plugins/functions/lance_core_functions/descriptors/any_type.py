"""Functions of values of any type."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function

GROUP = "any type"
_function = functools.partial(function, GROUP)

FUNCTIONS = (
    _function(
        "ifnull",
        "lance_core.sql_functions:coalesce",
        "any, any",
        "The first value, or the second where the first is NULL.",
        "nvl",
        infers_nullable=True,
    ),
    _function(
        "nvl2",
        "choices:nvl2",
        "any, any, any",
        "The second value where the first is not NULL, else the third.",
        infers_nullable=True,
    ),
    _function("greatest", "choices:greatest", "any, ...", "The largest value that is not NULL."),
    _function("least", "choices:least", "any, ...", "The smallest value that is not NULL."),
    _function(
        "is_valid",
        "choices:is_valid",
        "any",
        "False where the value is NULL.",
        infers_nullable=True,
    ),
    _function(
        "arrow_cast",
        "arrow_casts:arrow_cast",
        "any, text*",
        "The value as an Arrow type, such as `'Timestamp(Second, None)'`.",
    ),
    _function(
        "arrow_try_cast",
        "arrow_casts:arrow_try_cast",
        "any, text*",
        "`arrow_cast` with NULL for values that do not fit.",
    ),
)
