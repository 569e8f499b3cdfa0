"""The observers that plugins provide, by the tool `TOOL`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lance_core.error_texts.plugin_calls import type_of
from lance_core.errors import PluginLoadError
from lance_core.imports.on_demand import lazy_module
from lance_core.observation import OBSERVERS, Observer
from lance_core.plugins.manager import get_manager
from lance_core.store.base import ObjectStore
from lance_core.store.spec import resolve_factory

if TYPE_CHECKING:
    from lance_core.imports.provided_names import ToolSpec
    from lance_core.store.wrappers import observing
else:
    observing = lazy_module("lance_core.store.wrappers.observing")

TOOL = "new_observer"
"""The tool that returns a new `Observer`, or None while nobody wants its reports; several plugins
may provide it, and all are used."""

_LOG = logging.getLogger("lance_core.observation")

_created: dict[ToolSpec, Observer] = {}
_failed: set[ToolSpec] = set()


def observed(store: ObjectStore, scheme: str) -> ObjectStore:
    """``store``, which reports to observers if there are any; this starts those of plugins.

    All work on a table begins with its store. An observer that cannot be made is logged once.
    """
    specs = get_manager().tool_specs(TOOL)
    for spec in specs:
        if spec not in _created and spec not in _failed:
            _create(spec)
    if specs:
        OBSERVERS[:] = [_created[spec] for spec in specs if spec in _created]
    return observing.ObservingStore(store, scheme) if OBSERVERS else store


def _create(spec: ToolSpec) -> None:
    try:
        factory: Any = resolve_factory(spec.path, f"the tool {TOOL!r}")
        observer = factory()
        if not isinstance(observer, Observer | None):
            raise PluginLoadError(f"it returned {type_of(observer)}, not an Observer")
    except Exception:
        _failed.add(spec)
        _LOG.exception("the observer %s cannot be made", spec.path)
    else:
        if observer is not None:
            _created[spec] = observer
