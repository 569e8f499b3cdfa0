"""What a program adds to all transactions that it commits in a context."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import NamedTuple

from lance_core.commits.options import CommitOptions
from lance_core.dataset.values.transaction import properties_of
from lance_core.lazy_dataclass import replace
from lance_core.table.transactions.operations import ReserveFragments
from lance_core.table.transactions.transaction import Transaction

Check = Callable[[Mapping[str, str]], bool]


class _Context(NamedTuple):
    properties: dict[str, str]
    is_committed: Check | None


_CURRENT: ContextVar[_Context | None] = ContextVar("commit_properties", default=None)


@contextlib.contextmanager
def commit_properties(
    properties: Mapping[str, str], is_committed: Check | None = None
) -> Iterator[None]:
    """See `lance_core.engines.commit_properties`."""
    token = _CURRENT.set(_Context(properties_of(None, properties), is_committed))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def in_context(
    transaction: Transaction, options: CommitOptions
) -> tuple[Transaction, CommitOptions]:
    """``transaction`` and ``options`` with what the context adds; their own values come first."""
    context = _CURRENT.get()
    if context is None or isinstance(transaction.operation, ReserveFragments):
        return transaction, options
    properties = {**context.properties, **transaction.properties}
    is_committed = options.is_committed or context.is_committed
    changed = replace(transaction, properties=properties)
    return changed, replace(options, is_committed=is_committed)
