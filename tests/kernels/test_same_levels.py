"""What is read off levels is the same with C as with numpy, for levels of rows and any others."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm
from lance_core.encodings.kernels.numpy.levels import Slots
from tests.kernels.outcomes import array, check

few = st.lists(st.integers(0, 4), max_size=200)
many = st.integers(0, 1 << 32).map(
    lambda seed: np.random.default_rng(seed).integers(0, 5, 300).tolist()
)
levels = few | many
bounds = st.integers(-1, 5) | st.sampled_from([-(1 << 40), 65534, 65535, 65536, 1 << 40])


def two(
    repetition: list[int] | None, definition: list[int] | None, same: bool
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Both as arrays, as long as the shorter one if they are to be of the ``same`` length."""
    if same and repetition is not None and definition is not None:
        count = min(len(repetition), len(definition))
        repetition, definition = repetition[:count], definition[:count]
    return (
        None if repetition is None else array(repetition, np.uint16),
        None if definition is None else array(definition, np.uint16),
    )


@given(
    st.lists(st.integers(1, 4), max_size=40).map(lambda counts: np.cumsum([0, *counts]).tolist()),
    st.lists(st.integers(0, 170)).map(sorted),
)
def test_rows_are_located_alike(edges: list[int], rows: list[int]) -> None:
    rows = [row for row in rows if row < edges[-1]]
    found = check("locate_rows", array(edges), array(rows))
    assert isinstance(found, tuple)
    (_, used), (_, which), (_, position) = found
    assert [edges[used[number]] + at for number, at in zip(which, position, strict=True)] == rows
    assert all(
        at < edges[used[number] + 1] - edges[used[number]]
        for number, at in zip(which, position, strict=True)
    )
    assert sorted(set(which)) == list(range(len(used)))


@given(
    st.lists(st.integers(-2, 9), max_size=6).map(sorted), st.lists(st.integers(-2, 9), max_size=6)
)
@example([], [])
@example([0, 4], [4])
@example([0, 4], [2, 1])
@example([1, 4], [0])
def test_rows_anywhere_are_located_alike(edges: list[int], rows: list[int]) -> None:
    check("locate_rows", array(edges), array(rows))


@given(
    st.none() | levels,
    st.none() | levels,
    st.booleans(),
    st.integers(-1, 5),
    st.lists(st.integers(0, 3), max_size=6),
)
@example([2, 0, 1], [0, 0, 1], True, 2, [0, 1])
@example([2, 0, 0], [0, 0, 1], True, 2, [0, 1])
@example([2, 3], None, True, 2, [0])
def test_levels_of_any_form_are_refused_alike(
    repetition: list[int] | None,
    definition: list[int] | None,
    same: bool,
    most: int,
    least: list[int],
) -> None:
    rep, found = two(repetition, definition, same)
    if same and rep is not None and len(rep):
        rep[0] = max(most, 0)
    check("check_levels", rep, found, most, array(least, np.uint16))


@given(st.none() | levels, levels, st.booleans(), bounds, bounds, bounds, bounds)
@example(None, [0, 1] * 100, True, 0, 5, 0, 0)
@example([1, 0] * 100, [0, 1, 2] * 70, True, 1, 1, 0, 2)
def test_slots_of_a_layer_are_the_same(
    repetition: list[int] | None,
    definition: list[int],
    same: bool,
    rank: int,
    limit: int,
    top: int,
    also: int,
) -> None:
    rep, found = two(repetition, definition, same)
    check("layer_slots", rep, found, Slots(rank, limit), top, also)


@given(levels, st.none() | levels, st.booleans(), bounds, bounds, bounds, st.just(0) | bounds)
@example([2, 0, 1, 0, 2] * 40, None, True, 2, 0, 0, 0)
@example([2, 0, 1, 0, 2] * 40, [0, 1, 2, 0, 4] * 40, True, 1, 3, 1, 0)
@example([2, 0, 1, 0, 2] * 40, [0, 1, 2, 0, 4] * 40, True, 1, 3, 1, -1)
def test_offsets_of_lists_are_the_same(
    repetition: list[int],
    definition: list[int] | None,
    same: bool,
    rank: int,
    limit: int,
    base: int,
    more: int,
) -> None:
    rep, found = two(repetition, definition, same)
    shown = rep >= rank
    if found is not None and len(found) == len(shown):
        shown &= found <= limit
    lists = int(np.count_nonzero(shown)) + more
    check("layer_offsets", rep, found, Slots(rank, limit), base, lists)


@given(levels, bounds, st.lists(st.integers(-1, 300), max_size=8), st.booleans())
@example([0], 0, [5], False)
def test_levels_between_edges_are_counted_alike(
    found: list[int], top: int, edges: list[int], ascending: bool
) -> None:
    if ascending:
        edges = sorted(min(max(edge, 0), len(found)) for edge in edges)
    check("rank_levels", array(found, np.uint16), top, array(edges))


def test_more_levels_than_a_sum_of_16_bits_are_counted() -> None:
    found = np.zeros(200_001, np.uint16)
    assert check("rank_levels", found, 0, array([1, 200_001])) == ("int64", [200_000])


def zipped(chance: np.random.Generator, form: ZippedForm, rows: int) -> tuple[Any, Any]:
    """Rows of some levels each, as a page has them, and where they begin and end."""
    parts, edges = [], [0]
    for _ in range(rows):
        row = b""
        for _ in range(1 if form.single else int(chance.integers(1, 6))):
            level = int(chance.integers(0, 1 << min(form.bits_def, 8 * form.word)))
            row += level.to_bytes(form.word, "little")
            if level <= form.limit:
                size = form.value_width or int(chance.integers(0, 9))
                row += b"" if form.value_width else size.to_bytes(form.length_width, "little")
                row += bytes(size)
        parts.append(row)
        edges.append(edges[-1] + len(row))
    return np.frombuffer(b"".join(parts), np.uint8), array(edges)


@given(
    st.sampled_from([(0, 0), (1, 1), (1, 3), (2, 5), (4, 9), (4, 17), (3, 1), (1, 9)]),
    st.integers(-1, 9),
    st.sampled_from([0, 1, 5]),
    st.sampled_from([0, 4, 8]),
    st.booleans(),
    st.integers(0, 20),
    st.data(),
)
def test_levels_zipped_with_values_are_found_alike(
    word: tuple[int, int],
    limit: int,
    value: int,
    length: int,
    single: bool,
    rows: int,
    data: st.DataObject,
) -> None:
    form = ZippedForm(word[0], word[1], limit, value, length, single)
    known = form._replace(length_width=length or 4)
    octets, edges = zipped(np.random.default_rng(rows), known, rows)
    check("zipped_places", octets, edges[:-1], edges[1:], form)
    octets, starts, stops = octets.copy(), edges[:-1].copy(), edges[1:].copy()
    for target in data.draw(st.lists(st.sampled_from([octets, starts, stops]), max_size=2)):
        if len(target):
            place = data.draw(st.integers(0, len(target) - 1))
            target[place] = data.draw(st.integers(0, 255))
    check("zipped_places", octets, starts, stops, form)


@given(levels, bounds, st.lists(st.integers(-1, 310), max_size=8), st.booleans())
@example([1] * 600, 1, [0, 255, 256, 512, 600], False)
@example([0] * 600, 1, [0, 0], False)
@example([0] * 600, 1, [1], False)
def test_levels_are_found_alike_by_their_number(
    found: list[int], least: int, numbers: list[int], ascending: bool
) -> None:
    if ascending:
        count = sum(level >= least for level in found)
        numbers = sorted(min(max(number, 0), count) for number in numbers)
    check("select_levels", array(found, np.uint16), least, array(numbers))
