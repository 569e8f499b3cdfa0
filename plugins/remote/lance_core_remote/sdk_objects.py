"""Named objects of SDKs that the caller has created.

Storage options are texts, because they are sent to other processes and are part of cache keys. A
plugin that accepts an object of its SDK, such as a session or a client, registers it under a name
in this process. The value of the storage option is this name.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Generic, TypeVar

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import ForkSafeLock

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class SdkObjects(Generic[T]):
    """The objects of one kind. Errors show ``kind`` and ``function``, the caller of `register`.

    ``sdk_class``: module and name of the class that objects must have; it is imported when the
    first one is registered. None: any object. A forked child process has the objects of its parent.
    Other processes, such as Spark executors, have none, because only the name is sent. ``lock``
    protects SDK operations that only one thread may run at a time, such as creating a client from a
    session; `get` does not acquire it.
    """

    def __init__(self, kind: str, function: str, *, sdk_class: str | None = None) -> None:
        self._kind = kind
        self._function = function
        self._sdk_class = sdk_class
        self.lock, self._known = ForkSafeLock(), dict[str, T]()

    def register(self, name: str, value: T) -> str:
        """Keep ``value`` under ``name`` until `unregister`; return the name.

        ``name`` consists of letters, digits, ``.``, ``_`` and ``-``. Raises `InvalidInputError` if
        it is malformed or belongs to another object, and if ``value`` has another class.
        """
        self._check_class(value)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInputError(f"{name!r} cannot be the name of a {self._kind}")
        with self.lock:
            if self._known.setdefault(name, value) is not value:
                raise InvalidInputError(f"another {self._kind} is registered as {name!r}")
        return name

    def unregister(self, name: str) -> None:
        """Remove the object of this name, if it exists."""
        with self.lock:
            self._known.pop(name, None)

    def get(self, name: str) -> T:
        """The object of this name. Raises `InvalidInputError` if this process has none."""
        sdk_object = self._known.get(name)
        if sdk_object is None:
            raise InvalidInputError(
                f"no {self._kind} is registered as {name!r} in this process: "
                f"{self._function}({name!r}, …) must be called first"
            )
        return sdk_object

    def _check_class(self, value: T) -> None:
        if self._sdk_class is None:
            return
        module, _, name = self._sdk_class.rpartition(".")
        if not isinstance(value, getattr(import_module(module), name)):
            raise InvalidInputError(
                f"the {self._kind} must be a {self._sdk_class}, got {type(value).__name__}"
            )
