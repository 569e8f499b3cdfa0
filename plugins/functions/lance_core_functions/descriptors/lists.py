"""Functions of lists and structs."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function, of_engine

GROUP = "lists, structs"
_function = functools.partial(function, GROUP)
_of_engine = functools.partial(of_engine, GROUP)

FUNCTIONS = (
    _function(
        "array_length",
        "lists:length",
        "list",
        "The number of elements.",
        "list_length",
        "cardinality",
    ),
    _function("empty", "lists:is_empty", "list", "True for a list without elements."),
    _function(
        "array_element",
        "lance_core.sql_functions:list_element",
        "list, integer",
        "The element at a position: 1 is the first, -1 the last; NULL if there is none.",
        "list_element",
    ),
    _function(
        "array_max",
        "list_extremes:largest",
        "list",
        "The largest element that is not NULL.",
        "list_max",
    ),
    _function(
        "array_min",
        "list_extremes:smallest",
        "list",
        "The smallest element that is not NULL.",
        "list_min",
    ),
    _function(
        "array_has",
        "list_search:contains",
        "list, any",
        "True if the list contains the value.",
        "list_has",
        "array_contains",
        "list_contains",
    ),
    _function(
        "array_has_any",
        "list_search:contains_any",
        "list, list",
        "True if the list contains an element of the second list; NULL equals NULL.",
        "list_has_any",
    ),
    _function(
        "array_has_all",
        "list_search:contains_all",
        "list, list",
        "True if the list contains all elements of the second list; NULL equals NULL.",
        "list_has_all",
    ),
    _function(
        "array_positions",
        "list_search:positions",
        "list, any",
        "The positions of all equal elements.",
        "list_positions",
    ),
    _function(
        "array_distinct",
        "list_search:distinct",
        "list",
        "The list without repeated elements.",
        "list_distinct",
    ),
    _function("get_field", "lists:get_field", "struct, text*", "A field of a struct."),
    _of_engine("array_append", "list, any", "The list with an element at its end.", "list_append"),
    _of_engine(
        "array_prepend",
        "any, list",
        "The list with an element at its start.",
        "list_prepend",
    ),
    _of_engine(
        "array_concat",
        "list, list, ...",
        "The elements of all lists.",
        "array_cat",
        "list_concat",
    ),
    _of_engine(
        "array_except",
        "list, list",
        "The distinct elements that the second list does not have.",
        "list_except",
    ),
    _of_engine(
        "array_intersect",
        "list, list",
        "The distinct elements that both lists have.",
        "list_intersect",
    ),
    _of_engine("array_union", "list, list", "The distinct elements of both lists.", "list_union"),
    _of_engine(
        "array_position",
        "list, any, [integer]",
        "The position of the first equal element, from a position.",
        "list_position",
    ),
    _of_engine(
        "array_remove",
        "list, any",
        "The list without the first equal element.",
        "list_remove",
    ),
    _of_engine(
        "array_remove_n",
        "list, any, integer",
        "The list without the first so many equal elements.",
        "list_remove_n",
    ),
    _of_engine(
        "array_remove_all",
        "list, any",
        "The list without all equal elements.",
        "list_remove_all",
    ),
    _of_engine(
        "array_replace",
        "list, any, any",
        "The list with the first equal element replaced.",
        "list_replace",
    ),
    _of_engine(
        "array_replace_n",
        "list, any, any, integer",
        "The list with the first so many equal elements replaced.",
        "list_replace_n",
    ),
    _of_engine(
        "array_replace_all",
        "list, any, any",
        "The list with all equal elements replaced.",
        "list_replace_all",
    ),
    _of_engine("array_reverse", "list", "The elements in reverse order.", "list_reverse"),
    _of_engine(
        "array_slice",
        "list, integer, integer, [integer]",
        "The elements from a position to another, with a step.",
        "list_slice",
    ),
    _of_engine(
        "array_sort",
        "list, [text], [text]",
        "The elements in order: `'ASC'` or `'DESC'`, `'NULLS FIRST'` or `'NULLS LAST'`.",
        "list_sort",
    ),
    _of_engine("array_pop_back", "list", "The list without its last element.", "list_pop_back"),
    _of_engine("array_pop_front", "list", "The list without its first element.", "list_pop_front"),
    _of_engine(
        "array_to_string",
        "list, text, [text]",
        "The elements as text, joined with a separator; the third argument replaces NULL.",
        "list_to_string",
        "array_join",
        "list_join",
    ),
    _of_engine(
        "string_to_array",
        "text, text, [text]",
        "The parts of a text between separators; parts equal to the third argument become NULL.",
        "string_to_list",
    ),
    _of_engine("flatten", "list", "The elements of the inner lists."),
)
