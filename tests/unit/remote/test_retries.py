"""When requests are sent again: pauses, limits, credentials."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from lance_core.errors import OutcomeUnknownError, StoreError
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.retries import Sender
from lance_core_remote.settings import RemoteSettings
from tests.each_case import each_case
from tests.unit.remote.scripted import Time


class Service:
    """Fails as ``failures`` say, then answers; every request takes ``seconds``."""

    name = "service"

    def __init__(self, time: Time, *failures: RequestError, seconds: float = 0.0) -> None:
        self._time = time
        self._failures = list(failures)
        self._seconds = seconds
        self.sent = 0
        self.renewals = 0
        self.renew: Callable[[], bool] = lambda: True

    def request(self) -> str:
        self.sent += 1
        self._time.now += self._seconds
        if self._failures:
            raise self._failures.pop(0)
        return "answer"

    def renew_credentials(self) -> bool:
        self.renewals += 1
        return self.renew()


def busy(retry_after: float | None = None) -> RequestError:
    return RequestError(Failure.BUSY, "503 SlowDown", retry_after)


@each_case("drawn", [0.0, 0.25, 0.999])
def test_pauses_are_drawn_below_a_limit_that_doubles(drawn: float) -> None:
    time = Time(drawn)
    service = Service(time, *[busy()] * 10)
    assert (
        Sender(service, RemoteSettings(), time.waiting).read("r", "p", service.request) == "answer"
    )
    limits = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0]
    assert time.pauses == pytest.approx([drawn * limit for limit in limits])


def test_a_request_is_not_sent_earlier_than_the_service_asks_for() -> None:
    time = Time(0.5)
    service = Service(time, busy(7.0), busy(), busy(0.0))
    Sender(service, RemoteSettings(), time.waiting).write("w", "p", service.request)
    assert time.pauses == pytest.approx([7.05, 0.1, 0.2])


@each_case(("kind", "attempts"), [("read", 1 + 10 + 3), ("write", 1 + 10), ("prepare", 1 + 10)])
def test_the_number_of_attempts_is_limited(kind: str, attempts: int) -> None:
    time = Time(0.0)
    service = Service(time, *[busy()] * 99)
    with pytest.raises(StoreError, match=f"after {attempts} attempts"):
        getattr(Sender(service, RemoteSettings(), time.waiting), kind)("v", "p", service.request)
    assert service.sent == attempts


@pytest.mark.parametrize("retries", [0, 1])
def test_no_retries_means_none(retries: int) -> None:
    time = Time()
    service = Service(time, *[busy()] * 9)
    settings = RemoteSettings(max_retries=retries, download_retries=0)
    with pytest.raises(StoreError):
        Sender(service, settings, time.waiting).read("r", "p", service.request)
    assert service.sent == 1 + retries


@each_case("seconds", [0.0, 1.0, 25.0])
def test_nothing_is_sent_after_the_deadline(seconds: float) -> None:
    time = Time(1.0)
    service = Service(time, *[busy()] * 999, seconds=seconds)
    settings = RemoteSettings(max_retries=999, retry_timeout=60.0)
    with pytest.raises(StoreError):
        Sender(service, settings, time.waiting).write("w", "p", service.request)
    assert time.now <= 60.0 + seconds
    assert service.sent > 2


def test_a_pause_that_ends_behind_the_deadline_is_not_begun() -> None:
    time = Time()
    service = Service(time, busy(3600.0))
    with pytest.raises(StoreError, match=r"503 SlowDown$"):
        Sender(service, RemoteSettings(), time.waiting).read("r", "p", service.request)
    assert time.now == 0.0


def test_a_write_that_runs_into_the_deadline_is_open_if_one_attempt_was() -> None:
    time = Time()
    service = Service(time, RequestError(Failure.UNKNOWN, "no answer"), busy(3600.0))
    with pytest.raises(OutcomeUnknownError, match=r"503 SlowDown .*may have been applied"):
        Sender(service, RemoteSettings(), time.waiting).write("w", "p", service.request)


def expired() -> RequestError:
    return RequestError(Failure.EXPIRED, "400 ExpiredToken")


def test_expired_credentials_are_renewed_without_a_pause() -> None:
    time = Time()
    service = Service(time, expired(), busy(), expired())
    assert Sender(service, RemoteSettings(), time.waiting).write("w", "p", service.request)
    assert (service.renewals, service.sent, len(time.pauses)) == (2, 4, 1)


@pytest.mark.parametrize("can_renew", [True, False])
def test_credentials_that_stay_expired_end_the_call(can_renew: bool) -> None:
    time = Time()
    service = Service(time, *[expired()] * 99)
    service.renew = lambda: can_renew
    with pytest.raises(StoreError, match="400 ExpiredToken"):
        Sender(service, RemoteSettings(), time.waiting).read("r", "p", service.request)
    assert service.sent == (3 if can_renew else 1)
    assert service.renewals == (2 if can_renew else 1)


def test_a_renewal_that_fails_for_now_is_tried_again() -> None:
    time = Time()
    service = Service(time, expired(), expired())
    answers = [busy(), RequestError(Failure.REFUSED, "403 no role")]

    def renew() -> bool:
        raise answers.pop(0)

    service.renew = renew
    with pytest.raises(StoreError, match="403 no role"):
        Sender(service, RemoteSettings(), time.waiting).read("r", "p", service.request)
    assert len(time.pauses) == 1


def test_threads_that_find_credentials_expired_renew_them_once() -> None:
    time, start = Time(), threading.Barrier(8)
    service = Service(time)
    is_valid = threading.Event()

    def renew() -> bool:
        is_valid.set()
        return True

    service.renew = renew
    sender = Sender(service, RemoteSettings(), time.waiting)

    def call() -> str:
        is_first = True

        def request() -> str:
            nonlocal is_first
            if is_first:
                is_first = False
                start.wait()
                raise expired()
            assert is_valid.is_set()
            return "answer"

        return sender.read("r", "p", request)

    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(call) for _ in range(8)]
        assert [future.result() for future in futures] == ["answer"] * 8
    assert service.renewals == 1


def test_other_errors_pass() -> None:
    time = Time()

    def request() -> str:
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        Sender(Service(time), RemoteSettings(), time.waiting).write("w", "p", request)
