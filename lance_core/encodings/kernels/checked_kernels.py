"""Check what the kernels of a plugin return, so that their defects give errors and no wrong rows.

An error of Python, and a result of another type, element type or length than `Kernels` says, is a
`PluginError` that names the kernel and its plugin. Offsets must ascend within their bytes and
positions be within what they refer to, because Arrow and numpy would read other memory otherwise.
The values themselves are not checked: only the kernel of numpy could do so.

A checked call costs a few microseconds more. Kernels of this project are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.encodings.kernels.result_rules import RULES
from lance_core.encodings.kernels.table import OPTIONAL_LOOPS, Kernels, KernelSpec
from lance_core.error_texts.plugin_calls import CheckedCalls, type_of
from lance_core.errors import PluginError

_DOCUMENTS = ("pa.Buffer", "Int64Array", "Int64Array")
"""The types of the members of what a `JsonLoop` returns."""


def checked_kernels(spec: KernelSpec, plugin: str) -> KernelSpec:
    """``spec`` with functions whose results are checked; ``plugin`` names the plugin in errors."""
    loops = {name: _checked(name, loop, plugin) for name, loop in spec.loops.items()}
    return replace(spec, loops=MappingProxyType(loops))


def _checked(name: str, loop: Callable[..., Any], plugin: str) -> Callable[..., Any]:
    what = f"kernel {name!r} of {plugin}"
    if name == "copy_ranges":  # it returns nothing, and raises errors of files
        calls = CheckedCalls(what, PluginError, (OSError,))
        return wraps(loop)(
            lambda *arguments: calls("the call", type(None), lambda: loop(*arguments))
        )
    calls = CheckedCalls(what, PluginError)
    members: tuple[str, ...] = _DOCUMENTS
    if name == "crc32c":
        members = ("list[int]",)
    elif name not in OPTIONAL_LOOPS:
        members = _members(getattr(Kernels, name).__annotations__["return"])
    rule = RULES.get(name)

    @wraps(loop)
    def checked(*arguments: Any, **named: Any) -> Any:
        result = calls("the call", object, lambda: loop(*arguments, **named))
        if members == ("bytes", "..."):
            return _symbols(result, calls)
        values = result if len(members) > 1 else (result,)
        if not isinstance(values, tuple) or len(values) != len(members):
            raise calls.wrong("the call", result, f"{len(members)} values")
        for value, member in zip(values, members, strict=True):
            problem = _problem(value, member)
            if problem is not None:
                raise calls.false("the call", problem)
        if rule is not None:
            # The rule calculates with what the plugin has returned, so it may fail as well.
            problem = calls("the call", object, lambda: rule(result, *arguments, **named))
            if problem is not None:
                raise calls.false("the call", problem)
        return result

    return checked


def _members(annotation: str) -> tuple[str, ...]:
    """The types of the members of a result; a single one if it is no tuple."""
    if annotation == "ValueMatches":
        return "Int64Array", "Int64Array"
    if annotation.startswith("tuple["):
        return tuple(annotation.removeprefix("tuple[").removesuffix("]").split(", "))
    return (annotation,)


def _symbols(result: Any, calls: CheckedCalls) -> tuple[bytes, ...]:
    """The symbols of `Kernels.fsst_train`."""
    if not isinstance(result, tuple) or not all(isinstance(symbol, bytes) for symbol in result):
        raise calls.wrong("the call", result, "a tuple of bytes")
    if len(result) > 255 or not all(1 <= len(symbol) <= 8 for symbol in result):
        raise calls.false(
            "the call", f"{len(result)} symbols, or symbols of other than 1 to 8 bytes"
        )
    return result


_DTYPES: Mapping[str, tuple[str, ...]] = {
    "Bytes": ("uint8",),
    "Codes": ("uint32",),
    "Int64Array": ("int64",),
    "LevelArray": ("uint16",),
    "Offsets": ("int32", "int64"),
    "Words": ("uint8", "uint16", "uint32", "uint64"),
}
"""The element types of arrays, by the name of the type of a member."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "None": (type(None),),
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "list[int]": (list,),
    "pa.Buffer": (pa.Buffer,),
    "pa.Buffer | None": (pa.Buffer, type(None)),
}
"""The classes of the other members."""


def _problem(value: Any, member: str) -> str | None:
    """The reason why ``value`` is not a ``member``; None if it is."""
    dtypes = _DTYPES.get(member)
    if dtypes is None:
        kinds = _TYPES[member]
        if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
            return None
        return f"{type_of(value)}; it must return {member}"
    if not isinstance(value, np.ndarray):
        return f"{type_of(value)}; it must return an array of {' or '.join(dtypes)}"
    if value.dtype.name not in dtypes or not value.dtype.isnative:
        return f"an array of {value.dtype}; it must return an array of {' or '.join(dtypes)}"
    if value.ndim != 1 or not value.flags.c_contiguous:
        return "an array that is not contiguous, or not of one dimension"
    return None
