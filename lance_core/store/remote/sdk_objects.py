"""Objects of SDKs that the caller made, by name.

Storage options are text: they travel to other processes and are part of keys of caches. A plugin
that takes an object of its SDK, such as a session or a client, gives it a name in this process;
the name is the value of a storage option.
"""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidInputError

T = TypeVar("T")

_shared: dict[str, tuple[ForkSafeLock, dict[str, Any]]] = {}
"""A lock and the objects by name, for each kind that several plugins take."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class SdkObjects(Generic[T]):
    """The objects of one kind. ``kind`` and ``function``: how errors call it and `register`.

    A forked child knows what its parent knew. Any other process, such as a Spark executor, knows
    nothing: only the name travels. With ``is_shared``, all plugins that say so know the same
    objects of this kind. ``lock``: for what an object of the SDK does not allow to several threads
    at once, such as making a client of a session; `get` does not take it.
    """

    def __init__(self, kind: str, function: str, *, is_shared: bool = False) -> None:
        self._kind = kind
        self._function = function
        self.lock, self._known = ForkSafeLock(), dict[str, T]()
        if is_shared:
            self.lock, self._known = _shared.setdefault(kind, (self.lock, self._known))

    def register(self, name: str, value: T) -> str:
        """Keep ``value`` as ``name`` until `unregister`; returns the name.

        ``name``: letters, digits, ``.``, ``_`` and ``-``. Raises `InvalidInputError` if it is
        malformed or the name of another object.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInputError(f"{name!r} cannot be the name of a {self._kind}")
        with self.lock:
            if self._known.setdefault(name, value) is not value:
                raise InvalidInputError(f"another {self._kind} is registered as {name!r}")
        return name

    def unregister(self, name: str) -> None:
        """Forget the object of this name, if there is one."""
        with self.lock:
            self._known.pop(name, None)

    def get(self, name: str) -> T:
        """The object of this name; `InvalidInputError` if this process has none."""
        found = self._known.get(name)
        if found is None:
            raise InvalidInputError(
                f"no {self._kind} is registered as {name!r} in this process: "
                f"{self._function}({name!r}, …) has to come first"
            )
        return found
