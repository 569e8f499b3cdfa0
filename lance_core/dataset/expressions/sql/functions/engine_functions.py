"""Functions that DataFusion evaluates, if the extra ``datafusion`` is installed.

A function is here if pylance has it, its result is at most as large as its arguments (constants
count once for each value), and a differential test holds it to pylance's results in all releases
of DataFusion that the extra allows. Its arguments are evaluated here; only their values reach the
engine.
"""

from __future__ import annotations

import functools

from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import Datum, Node, call, with_nullable
from lance_core.on_demand import lazy_module

datafusion = lazy_module("lance_core.dataset.expressions.datafusion")


def planned(*nodes: Node, name: str) -> Node:
    """A call of DataFusion's function ``name``."""
    return with_nullable(call(name, functools.partial(_evaluated, name=name), *nodes), True)


def _evaluated(*values: Datum, name: str) -> Datum:
    return datafusion.call_engine(*values, name=name)


def _function(name: str, parameters: str, summary: str, *aliases: str) -> Function:
    plan = functools.partial(planned, name=name)
    return Function(name, plan, parameters, summary, aliases, is_engine=True)


LISTS = (
    _function("array_append", "list, any", "The list with an element at its end.", "list_append"),
    _function(
        "array_prepend",
        "any, list",
        "The list with an element at its start.",
        "list_prepend",
    ),
    _function(
        "array_concat",
        "list, list, ...",
        "The elements of all lists.",
        "array_cat",
        "list_concat",
    ),
    _function(
        "array_except",
        "list, list",
        "The distinct elements that the second list does not have.",
        "list_except",
    ),
    _function(
        "array_intersect",
        "list, list",
        "The distinct elements that both lists have.",
        "list_intersect",
    ),
    _function("array_union", "list, list", "The distinct elements of both lists.", "list_union"),
    _function(
        "array_position",
        "list, any, [integer]",
        "The position of the first equal element, from a position.",
        "list_position",
    ),
    _function(
        "array_remove",
        "list, any",
        "The list without the first equal element.",
        "list_remove",
    ),
    _function(
        "array_remove_n",
        "list, any, integer",
        "The list without the first so many equal elements.",
        "list_remove_n",
    ),
    _function(
        "array_remove_all",
        "list, any",
        "The list without all equal elements.",
        "list_remove_all",
    ),
    _function(
        "array_replace",
        "list, any, any",
        "The list with the first equal element replaced.",
        "list_replace",
    ),
    _function(
        "array_replace_n",
        "list, any, any, integer",
        "The list with the first so many equal elements replaced.",
        "list_replace_n",
    ),
    _function(
        "array_replace_all",
        "list, any, any",
        "The list with all equal elements replaced.",
        "list_replace_all",
    ),
    _function("array_reverse", "list", "The elements in reverse order.", "list_reverse"),
    _function(
        "array_slice",
        "list, integer, integer, [integer]",
        "The elements from a position to another, with a step.",
        "list_slice",
    ),
    _function(
        "array_sort",
        "list, [text], [text]",
        "The elements in order: `'ASC'` or `'DESC'`, `'NULLS FIRST'` or `'NULLS LAST'`.",
        "list_sort",
    ),
    _function("array_pop_back", "list", "The list without its last element.", "list_pop_back"),
    _function("array_pop_front", "list", "The list without its first element.", "list_pop_front"),
    _function(
        "array_to_string",
        "list, text, [text]",
        "The elements as text, joined with a separator; the third argument replaces NULL.",
        "list_to_string",
        "array_join",
        "list_join",
    ),
    _function(
        "string_to_array",
        "text, text, [text]",
        "The parts of a text between separators; parts equal to the third argument become NULL.",
        "string_to_list",
    ),
    _function("flatten", "list", "The elements of the inner lists."),
)
TEXT = (
    _function("levenshtein", "text, text", "The number of characters to change, insert or remove."),
    _function("md5", "text", "The MD5 hash of text or bytes, in hexadecimal digits."),
    *(
        _function(f"sha{bits}", "text", f"The SHA-{bits} hash of text or bytes.")
        for bits in (224, 256, 384, 512)
    ),
    _function("digest", "text, text", "The hash by a method such as `'sha256'` or `'blake3'`."),
    _function("encode", "text, text", "Text or bytes as `'hex'`, `'base64'` or `'base64pad'`."),
    _function("decode", "text, text", "The bytes of text that is `'hex'` or `'base64'`."),
)
TIME = (
    _function(
        "to_char",
        "time, text",
        "The date or timestamp as text, in a format such as `'%Y-%m-%d'`.",
        "date_format",
    ),
)
