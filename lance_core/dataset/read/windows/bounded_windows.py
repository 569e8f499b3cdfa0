"""Bound the bytes that a window decodes, and divide a window whose rows take more.

The rows of a window follow from the bytes of earlier windows. The next rows may take a thousand
times as many: a page can store a long text once for all its rows. The decoders know the bytes
before they allocate memory for them, see `lance_core.encodings.arrow.decode_budget`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.windows.window_sizing import WindowBytes, WindowSizer
from lance_core.encodings.arrow.decode_budget import BudgetExceededError, decode_budget

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span

T = TypeVar("T")


class OversizedWindow(NamedTuple):
    """A window that exceeds its budget; nothing of it is kept."""

    span: Span


class BoundedWork(Generic[T]):
    """Does ``work`` of windows that decodes at most ``limit`` bytes for each.

    A single row may take more. ``run`` calls a function for windows, in order, perhaps in threads.
    """

    def __init__(
        self,
        work: Callable[[Span], T],
        limit: int,
        run: Callable[[Callable[[Span], Any], Iterator[Span]], Iterator[Any]],
    ) -> None:
        self._work = work
        self._limit = limit
        self._run = run

    def results(self, windows: Iterator[Span], sizer: WindowSizer | None = None) -> Iterator[T]:
        """The results of ``work`` in order: of each window, or of each of its parts.

        ``sizer`` observes the bytes that the windows decode.
        """
        results: Iterable[T | OversizedWindow]
        results = self._run(lambda window: self._bounded(window, sizer), windows)
        for result in results:
            if isinstance(result, OversizedWindow):
                yield from self._parts(result.span)
            else:
                yield result

    def _bounded(self, window: Span, sizer: WindowSizer | None) -> T | OversizedWindow:
        rows = window.num_rows
        try:
            with decode_budget(self._limit) as budget:
                result = self._work(window)
        except BudgetExceededError:
            if sizer is not None:
                sizer.observe(rows, self._limit)
            if rows > 1:
                return OversizedWindow(window)
        else:
            if sizer is not None:
                sizer.observe(rows, budget.spent)
            return result
        return self._work(window)  # not in the handler: its traceback keeps what was decoded

    def _parts(self, window: Span) -> Iterator[T]:
        rows, target = window.num_rows, self._limit // tuning().decoded.target_share
        first, most = max(1, rows // tuning().decoded.parts), max(1, rows // 2)
        sizer = WindowSizer(first, most, 1, WindowBytes(target, target))
        return self.results(sizer.windows([window]), sizer)
