"""Services of commit handlers and manifest stores into which a test injects faults.

The tests inject faults through a `FaultyService`, which the fixture ``service`` provides. Use
`ProxiedService` for services with HTTP, `InProcessService` for clients that send their requests
with a function.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

import pytest

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core_testing.network import FaultProxy, Reset, Rule

T = TypeVar("T")


class ServiceFault(enum.Enum):
    """The fault of a request."""

    REFUSED = "refused"
    """The connection is refused: the request is not applied, and the client can tell."""
    REQUEST_LOST = "request lost"
    """The request is not applied, and the client gets no answer."""
    ANSWER_LOST = "answer lost"
    """The request is applied, and the client gets no answer."""


class FaultyService(ABC):
    """A service into which tests inject faults."""

    refusals_are_known: ClassVar[bool] = True
    """False if clients cannot distinguish `ServiceFault.REFUSED` from a lost request."""

    @abstractmethod
    def fail(self, fault: ServiceFault, nth: int = 1, is_lasting: bool = False) -> None:
        """Apply ``fault`` to the ``nth`` request from now on, counted from 1.

        ``is_lasting``: this begins an outage; every later request is refused until `heal`.
        """

    @abstractmethod
    def heal(self) -> None:
        """Forward every request from now on."""


class InProcessService(FaultyService):
    """Forwards requests that are functions.

    ``struck``: number of requests with a fault. Pickled for another process, it is a new service
    without faults.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self.struck = 0
        self.heal()

    def __reduce__(self) -> tuple[type[InProcessService], tuple[()]]:
        return InProcessService, ()

    def fail(self, fault: ServiceFault, nth: int = 1, is_lasting: bool = False) -> None:
        with self._lock:
            self._fault: ServiceFault | None = fault
            self._left = nth
            self._is_lasting = is_lasting

    def heal(self) -> None:
        with self._lock:
            self._fault = None

    def send(self, request: Callable[[], T]) -> T:
        """The result of ``request``.

        Raises `ConnectionRefusedError` if the fault refuses it, `TimeoutError` if the response is
        lost.
        """
        match self._met():
            case None:
                return request()
            case ServiceFault.REFUSED:
                raise ConnectionRefusedError("injected fault: the connection was refused")
            case ServiceFault.ANSWER_LOST:
                request()
        raise TimeoutError("injected fault: there was no answer")

    def _met(self) -> ServiceFault | None:
        with self._lock:
            if self._fault is None:
                return None
            self._left -= 1
            if self._left > 0:
                return None
            met, self._fault = self._fault, ServiceFault.REFUSED if self._is_lasting else None
            self.struck += 1
            return met


class ProxiedService(FaultyService):
    """The service behind a `FaultProxy`, to which the client must send its requests.

    The client cannot distinguish refused connections from lost requests: both reset the connection.
    """

    refusals_are_known = False

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy

    def fail(self, fault: ServiceFault, nth: int = 1, is_lasting: bool = False) -> None:
        rules = [Rule(Reset(after=fault is ServiceFault.ANSWER_LOST), nth=nth)]
        if is_lasting:
            rules.append(Rule(Reset(), since=nth))
        self.proxy.set_rules(rules)

    def heal(self) -> None:
        self.proxy.set_rules(())


def service_or_reason(service: FaultyService | None, reason: str) -> FaultyService:
    """Return ``service``; without one, skip the test if ``reason`` says why, and fail otherwise."""
    if service is not None:
        return service
    if reason:
        pytest.skip(f"no service can be made to fail: {reason}")
    raise NotImplementedError(
        "provide the fixture `service`: a FaultyService (lance_core_testing.service) through which "
        "all requests go, a ProxiedService for HTTP or an InProcessService for functions, so that "
        "the tests can lose answers; or say in `without_service` why nothing can be made to fail"
    )
