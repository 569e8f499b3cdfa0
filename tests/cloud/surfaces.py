"""Everywhere that a secret could be seen: all that Python shows of a value or an error."""

from __future__ import annotations

import base64
import gc
import json
import logging
import pickle
import pprint
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from types import TracebackType
from urllib.parse import quote

from lance_core.errors import LanceError
from tests.worker_memory import collect_and_freeze

OF_SDKS = (
    *("azure", "azure.core", "azure.identity", "boto3", "botocore", "fsspec"),
    *("google", "google.auth", "msal", "requests", "urllib3", "urllib3.connectionpool"),
)
OURS = "lance_core"


def of_value(value: object) -> Iterator[tuple[str, str]]:
    """What can be seen of ``value``, by the way to see it."""
    yield "repr", repr(value)
    yield "str", str(value)
    yield "f-string", f"{value} {value!r}"
    yield "percent", "%s %r" % (value, value)  # noqa: UP031 (as logging has it)
    yield "pprint", pprint.pformat(value)
    yield "json", json.dumps(value, default=repr)
    for owner, attributes in _attributes(value, set()):
        yield f"attributes of {owner}", attributes


def of_pickle(value: object) -> Iterator[tuple[str, str]]:
    """What travels to another process, and what is made of it there."""
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        sent = pickle.dumps(value, protocol)
        yield f"pickle {protocol}", sent.decode("latin-1")
        try:
            yield "unpickled", repr(pickle.loads(sent))
        except LanceError as error:  # what it was opened with does not travel
            yield from of_error(error)


def of_error(error: BaseException) -> Iterator[tuple[str, str]]:
    """What an error and all that hangs on it say, to a program, in a log, and to a debugger."""
    yield from _told(error)
    yield "locals", "".join(text for one in _chain(error) for text in _locals(one.__traceback__))


def everything(error: BaseException) -> str:
    """The same in one text, but for a debugger's."""
    return "\n".join(text for _, text in _told(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        yield one


def _told(error: BaseException) -> Iterator[tuple[str, str]]:
    for one in _chain(error):
        kind = type(one).__name__
        yield f"text of {kind}", f"{one} {one!r}"
        yield f"arguments of {kind}", repr(one.args)
        yield f"attributes of {kind}", f"{vars(one)!r} {getattr(one, '__notes__', ())!r}"
        yield f"pickled {kind}", _pickled_error(one)
    yield "traceback", "".join(traceback.format_exception(error))


def _pickled_error(error: BaseException) -> str:
    if not type(error).__module__.startswith(OURS):
        return ""
    return pickle.dumps(error).decode("latin-1")


def _locals(trace: TracebackType | None) -> Iterator[str]:
    """What the frames of this project that an error went through show of their variables."""
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__", "")).startswith(OURS):
            shown = {name: _safe_repr(value) for name, value in frame.f_locals.items()}
            yield f"{frame.f_code.co_qualname}: {shown}\n"
        trace = trace.tb_next


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:
        return f"{type(value).__name__}: {error}"


def _attributes(value: object, seen: set[int]) -> Iterator[tuple[str, str]]:
    """The attributes of ``value`` and of the objects of this project that it leads to."""
    if id(value) in seen or isinstance(value, str | bytes | type | PurePath):
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        held: Iterable[object] = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        held = list(value)
    elif type(value).__module__.startswith(OURS) and type(value).__name__ != "Secret":
        named = {
            name: getattr(value, name, None)
            for name in (*getattr(value, "__dict__", ()), *_slots(type(value)))
        }
        yield type(value).__qualname__, repr(named)
        held = list(named.values())
    else:
        return
    for one in held:
        yield from _attributes(one, seen)


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


@contextmanager
def logs() -> Iterator[list[str]]:
    """Everything that is logged at any level, with all attributes."""
    texts: list[str] = []

    class Keeper(logging.Handler):
        last: logging.LogRecord | None = None

        def emit(self, record: logging.LogRecord) -> None:
            if record is self.last:  # which came by way of another logger
                return
            self.last = record
            texts.append(f"{record.name}: {self.format(record)} {vars(record)!r}")

    keeper = Keeper()
    loggers = [logging.getLogger(name) for name in (None, *OF_SDKS, OURS)]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        # Of each, as one whose SDK is configured passes nothing on to the one above it.
        logger.addHandler(keeper)
    try:
        yield texts
    finally:
        for logger, level in before:
            logger.setLevel(level)
            logger.removeHandler(keeper)


@contextmanager
def all_logs() -> Iterator[list[str]]:
    """The same, and every warning."""
    collect_and_freeze()  # the collection at the end looks for what the block has left
    with logs() as texts:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield texts
            gc.collect()
        texts += [f"warning: {one.message} {one.source!r}" for one in caught]


def leaks(secret: str, shown: Iterable[tuple[str, str]]) -> list[str]:
    """The surfaces that show ``secret``, be it encoded as protocols encode it."""
    raw = secret.encode()
    forms = {secret, quote(secret, safe=""), raw.hex(), base64.b64encode(raw).decode()}
    # Within a longer text that is encoded as a whole: each of the three places that it can begin.
    forms |= {base64.b64encode(b"_" * start + raw)[4:-4].decode() for start in (1, 2, 3)}
    return sorted({name for name, text in shown if any(form in text for form in forms)})
