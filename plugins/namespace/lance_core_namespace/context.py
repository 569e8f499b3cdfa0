"""What callers add to each request of a namespace, such as headers that authenticate them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping

from lance_core.errors import InvalidInputError

_PREFIX = "dynamic_context_provider."
_CLASS = "dynamic_context_provider.impl"


class DynamicContextProvider(ABC):
    """Returns what is added to a request, each time one is sent."""

    @abstractmethod
    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        """The context of a request; ``headers.NAME`` is the HTTP header NAME.

        ``info``: the ``operation``, such as ``"list_tables"``, and the ``object_id``, the parts of
        a name joined by the delimiter.
        """


def provider_of(
    properties: Mapping[str, str], provider: DynamicContextProvider | None
) -> tuple[dict[str, str], DynamicContextProvider | None]:
    """The other properties, and the provider that they name if ``provider`` is None.

    ``dynamic_context_provider.impl`` is the path of the class, ``package.module.Class``; the other
    properties of this prefix are its arguments. Raises `InvalidInputError` if it cannot be
    imported or made.
    """
    others = {name: text for name, text in properties.items() if not name.startswith(_PREFIX)}
    path = properties.get(_CLASS)
    if provider is not None or not path:
        return others, provider
    module, _, name = path.rpartition(".")
    if not module:
        raise InvalidInputError(
            f"Invalid context provider class path {path!r}: it is 'module.ClassName'"
        )
    arguments = {
        key.removeprefix(_PREFIX): text
        for key, text in properties.items()
        if key.startswith(_PREFIX) and key != _CLASS
    }
    try:
        made: DynamicContextProvider = getattr(importlib.import_module(module), name)(**arguments)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"Failed to import module {module!r} for the context provider: {error}"
        ) from error
    except AttributeError as error:
        raise InvalidInputError(f"Class {name!r} not found in module {module!r}") from error
    except TypeError:
        reason = f"context provider {path!r} cannot be made with the properties {sorted(arguments)}"
        raise InvalidInputError(reason) from None
    return others, made
