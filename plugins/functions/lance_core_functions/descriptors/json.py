"""Functions of JSON documents."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function

GROUP = "JSON"
_function = functools.partial(function, GROUP)

FUNCTIONS = (
    _function(
        "json_get",
        "json_functions:json_get",
        "json, text",
        "The field, or the element if the key is a number, as JSON for other JSON functions.",
    ),
    _function(
        "json_get_string",
        "json_functions:json_get_string",
        "json, text",
        "The field or element as text.",
    ),
    _function(
        "json_get_int",
        "json_functions:json_get_int",
        "json, text",
        "The field or element as an integer.",
    ),
    _function(
        "json_get_float",
        "json_functions:json_get_float",
        "json, text",
        "The field or element as a float.",
    ),
    _function(
        "json_get_bool",
        "json_functions:json_get_bool",
        "json, text",
        "The field or element as a boolean.",
    ),
    _function(
        "json_extract",
        "json_functions:json_extract",
        "json, text",
        "The text of the value at a path; of a list, if there are several.",
    ),
    _function(
        "json_exists",
        "json_functions:json_exists",
        "json, text",
        "True if there is a value at the path.",
    ),
    _function(
        "json_array_length",
        "json_functions:json_array_length",
        "json, text",
        "The number of elements of the list at a path; 0 for other values.",
    ),
    _function(
        "json_array_contains",
        "json_functions:json_array_contains",
        "json, text, text",
        "True if an element of the list at the path has this text.",
    ),
)
