"""Part of the contract of object stores: conditional writes, copies and renames."""

from __future__ import annotations

from collections.abc import Callable

from lance_core.errors import ObjectExistsError, ObjectNotFoundError, UnsupportedFeatureError
from lance_core.hookspecs.stores import Guarantee, ObjectStore, PutMode, exists, list_paths
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.threads import race_threads

THREADS = 8
KEYS = 20


class ExclusiveWriteTests:
    """Conditional put, rename and copy: each is guaranteed, or refused."""

    def test_put_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.put_if_absent

        def create(path: str, content: bytes) -> None:
            store.put(path, content, PutMode.create)

        _check_never_replaces(store, guarantee, create, "put_if_absent")

    def test_rename_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.rename_if_absent

        def create(path: str, content: bytes) -> None:
            store.put("source", content)
            try:
                store.rename_if_absent("source", path)
            except ObjectExistsError:
                check_bytes(store.get("source"), content, "the source of a refused rename")
                raise
            finally:
                store.delete("source")

        _check_never_replaces(store, guarantee, create, "rename_if_absent")

    def test_copy_if_absent_never_replaces(self, store: ObjectStore) -> None:
        guarantee = store.capabilities.copy_if_absent

        def create(path: str, content: bytes) -> None:
            store.put("source", content)
            try:
                store.copy("source", path, PutMode.create)
            finally:
                store.delete("source")

        _check_never_replaces(store, guarantee, create, "copy_if_absent")

    def test_of_racing_puts_exactly_one_wins(
        self, store: ObjectStore, reopened: ObjectStore
    ) -> None:
        def create(path: str, writer: int) -> None:
            chosen = reopened if writer % 2 else store
            chosen.put(path, b"%d" % writer, PutMode.create)

        _check_race(store, "put_if_absent", create)

    def test_of_racing_renames_exactly_one_wins(self, store: ObjectStore) -> None:
        def create(path: str, writer: int) -> None:
            store.put(f"sources/{path}-{writer}", b"%d" % writer)
            store.rename_if_absent(f"sources/{path}-{writer}", path)

        _check_race(store, "rename_if_absent", create)

    def test_of_racing_copies_exactly_one_wins(self, store: ObjectStore) -> None:
        def create(path: str, writer: int) -> None:
            store.put(f"sources/{path}-{writer}", b"%d" % writer)
            store.copy(f"sources/{path}-{writer}", path, PutMode.create)

        _check_race(store, "copy_if_absent", create)

    def test_a_rename_moves(self, store: ObjectStore) -> None:
        store.put("a/source", b"content")
        guarantee = store.capabilities.rename_if_absent
        if guarantee is Guarantee.YES:
            store.rename_if_absent("a/source", "new/folder/target")
            paths = list_paths(store)
            assert paths == ["new/folder/target"], "a rename must leave the target and no source"
            check_bytes(store.get("new/folder/target"), b"content", "get of a renamed object")
            with must_raise(ObjectNotFoundError, "a rename of what is missing") as caught:
                store.rename_if_absent("a/source", "b")
            told = caught.error.path
            assert told == "a/source", f"the error names {told!r}; it must name the source"
        elif guarantee is Guarantee.NO:
            with must_raise(UnsupportedFeatureError, "a rename where rename_if_absent is NO"):
                store.rename_if_absent("a/source", "new/folder/target")
            paths = list_paths(store)
            assert paths == ["a/source"], "a rename that is refused must change nothing"
        assert not exists(store, "b"), "a rename that failed created its target"


def _check_never_replaces(
    store: ObjectStore, guarantee: Guarantee, create: Callable[[str, bytes], None], what: str
) -> None:
    """Check that creating two objects ends as ``guarantee`` requires and never replaces one."""
    store.put("folder/old", b"old")
    refusal = UnsupportedFeatureError if guarantee is Guarantee.NO else ObjectExistsError
    doing = f"{what} ({guarantee.name}) where an object is"
    with must_raise((refusal, UnsupportedFeatureError), doing) as caught:
        create("folder/old", b"new")
    if guarantee is Guarantee.YES:
        error = caught.error
        assert isinstance(error, ObjectExistsError), (
            f"{what} is declared YES and raised {error!r}; it must raise ObjectExistsError"
        )
        assert error.path == "folder/old", (
            f"the error of {what} names {error.path!r}; it must name the target, 'folder/old'"
        )
        create("folder/new", b"new")
        check_bytes(store.get("folder/new"), b"new", f"get after {what}")
        store.delete("folder/new")
        create("folder/new", b"anew")
        check_bytes(store.get("folder/new"), b"anew", f"get after {what} of a deleted object")
    elif guarantee is Guarantee.NO:
        with must_raise(UnsupportedFeatureError, f"{what}, which is declared NO,"):
            create("folder/new", b"new")
        assert not exists(store, "folder/new"), f"{what} was refused and created the object"
    check_bytes(store.get("folder/old"), b"old", f"get of what {what} must not replace")


def _check_race(store: ObjectStore, what: str, create: Callable[[str, int], None]) -> None:
    """Check that one of `THREADS` wins each of `KEYS` paths and that its bytes are stored."""
    if getattr(store.capabilities, what) is not Guarantee.YES:
        refused = (UnsupportedFeatureError, ObjectExistsError)
        ends = [_raised(create, 1), _raised(create, 2)]
        assert ends[0] in (None, *refused), f"{what} ended with {ends[0]}; it must be refused"
        assert ends[1] in refused, f"{what} where an object is ended with {ends[1]}"
        return

    def race(writer: int) -> list[str]:
        won = []
        for key in range(KEYS):
            try:
                create(f"folder/{key}", writer)
            except ObjectExistsError:
                continue
            won.append(f"folder/{key}")
        return won

    won = race_threads(race, THREADS)
    for key in range(KEYS):
        path = f"folder/{key}"
        winners = [writer for writer, paths in enumerate(won) if path in paths]
        assert len(winners) == 1, (
            f"the store declares {what}=YES, but the threads {winners} of {THREADS} were told that "
            f"they created {path!r}; exactly one must be"
        )
        check_bytes(store.get(path), b"%d" % winners[0], f"{what}: get of what the winner created")
    paths = sorted(list_paths(store, "folder"))
    assert paths == sorted(f"folder/{key}" for key in range(KEYS)), f"objects after {what}"


def _raised(create: Callable[[str, int], None], writer: int) -> type[Exception] | None:
    try:
        create("folder/tried", writer)
    except (UnsupportedFeatureError, ObjectExistsError) as error:
        return type(error)
    return None
