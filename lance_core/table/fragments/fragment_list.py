"""The fragments of a version, decoded on first access.

A version of a large table shares most fragments with the previous version. The list keeps their
bytes as they were read, so that the next version copies bytes, including unknown fields.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from lance_core._pb import frames_pb2, table_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.fragments.data_file import TOMBSTONE
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_counts import FragmentCounts, fragment_messages
from lance_core.table.unknown_fields import all_known, parse
from lance_core.table.wire_scan import MessageRanges, UnusualMessageError, scan_fields

_FILES = table_pb2.DataFragment.FILES_FIELD_NUMBER
_FIELDS = table_pb2.DataFile.FIELDS_FIELD_NUMBER

FEW_FRAGMENTS = 64
"""For at most this many fragments, only their counts are read, not those of the whole table."""

_BLOCK = 64
"""Number of fragments that iteration decodes in one protobuf call."""


_MAX_JOINED_BYTES = 16 << 10
"""Maximum bytes of a fragment that is decoded together with others."""


class FragmentList(Sequence[Fragment]):
    """Immutable sequence of fragments over serialized ``DataFragment`` messages.

    Reading an item raises `CorruptFileError` if its bytes are not a fragment.
    """

    __slots__ = ("_counts", "_decoded", "_ids", "_positions", "_raw", "_recorded", "derived")

    def __init__(self, raw: Iterable[bytes] = ()) -> None:
        self._raw = tuple(raw)
        self._decoded: dict[int, Fragment] = {}
        self._recorded: FragmentCounts | None = None
        self._counts: FragmentCounts | None = None
        self._ids: tuple[int, ...] | None = None
        self._positions: dict[int, int] | None = None
        self.derived: dict[int, Any] = {}
        """What readers keep of single fragments, by fragment id."""

    @classmethod
    def of(cls, fragments: Iterable[Fragment]) -> FragmentList:
        """A list from decoded fragments; a `FragmentList` is returned unchanged."""
        if isinstance(fragments, FragmentList):
            return fragments
        decoded = list(fragments)
        made = cls(fragment.to_bytes() for fragment in decoded)
        made._decoded.update(enumerate(decoded))
        return made

    @property
    def raw(self) -> tuple[bytes, ...]:
        """The serialized fragments."""
        return self._raw

    @property
    def last_id(self) -> int | None:
        """The id of the last fragment, which is not decoded otherwise; None without fragments."""
        if not self._raw:
            return None
        return parse(table_pb2.DataFragment, self._raw[-1], "Manifest.fragments").id

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: int) -> Fragment: ...
    @overload
    def __getitem__(self, index: slice) -> FragmentList: ...
    def __getitem__(self, index: int | slice) -> Fragment | FragmentList:
        if isinstance(index, slice):
            return self._part(index)
        position = range(len(self._raw))[index]
        fragment = self._decoded.get(position)
        if fragment is None:
            fragment = self._decoded[position] = Fragment.from_bytes(self._raw[position])
        return fragment

    def _part(self, index: slice) -> FragmentList:
        """Some fragments, with those that are decoded."""
        part, positions = FragmentList(self._raw[index]), range(len(self._raw))[index]
        for position, fragment in list(self._decoded.items()):
            if position in positions:
                part._decoded[positions.index(position)] = fragment
        return part

    def __iter__(self) -> Iterator[Fragment]:
        return self.at(range(len(self._raw)))

    def at(self, positions: Sequence[int]) -> Iterator[Fragment]:
        """The fragments at ``positions``."""
        for start in range(0, len(positions), _BLOCK):
            block = positions[start : start + _BLOCK]
            missing = [position for position in block if position not in self._decoded]
            if len(missing) > 1:
                fragments = _decode_block([self._raw[position] for position in missing])
                self._decoded.update(zip(missing, fragments, strict=True))
            for position in block:
                yield self._decoded.get(position) or self[position]

    def __add__(self, other: FragmentList) -> FragmentList:
        if not other:
            return self
        joined = FragmentList(self._raw + other._raw)
        if self._recorded is not None and other._recorded is not None:
            joined._recorded = self._recorded + other._recorded
        joined._decoded.update(self._decoded)
        size = len(self)
        joined._decoded.update((size + i, fragment) for i, fragment in other._decoded.items())
        return joined

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FragmentList) and self._raw == other._raw

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<FragmentList of {len(self._raw)} fragments>"

    def __reduce__(self) -> tuple[type[FragmentList], tuple[tuple[bytes, ...]]]:
        return FragmentList, (self._raw,)

    @property
    def recorded_counts(self) -> FragmentCounts:
        """The stored counts, which may be impossible, read once without `Fragment` objects.

        Raises `CorruptFileError` for bytes that are not fragments.
        """
        if self._recorded is None:
            self._recorded = FragmentCounts.of(self._raw)
        return self._recorded

    def share_counts(self, other: FragmentList) -> None:
        """Take over the counts of the first fragments, as many as have the same bytes in both.

        Saves time for versions of one table, which share most fragments. Raises like
        `recorded_counts`.
        """
        if self._recorded is None:
            shared = _num_equal(self._raw, other._raw)
            new = FragmentCounts.of(self._raw[shared:])
            self._recorded = other.recorded_counts[:shared] + new

    @property
    def counts(self) -> FragmentCounts:
        """Like `recorded_counts`; raises `CorruptFileError` for impossible ids and counts too."""
        if self._counts is None:
            self._counts = self.recorded_counts.checked()
        return self._counts

    def counts_between(self, first: int, stop: int) -> FragmentCounts:
        """The `counts` of the fragments from position ``first`` to ``stop`` (exclusive).

        Those of few fragments are read alone if the counts of all were not read before.
        """
        if self._counts is None and stop - first <= FEW_FRAGMENTS:
            return self[first:stop].counts
        counts = self.counts
        return counts if stop - first == len(self) else counts[first:stop]

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of all fragments. Raises like `counts`."""
        if self._ids is None:
            self._ids = tuple(self.counts.ids.tolist())
        return self._ids

    def messages(self) -> list[table_pb2.DataFragment]:
        """The fragments as messages; raises `CorruptFileError` for bytes that are none."""
        return list(fragment_messages(self._raw))

    @property
    def max_field_id(self) -> int:
        """The highest field id in data files, `TOMBSTONE` or less if there is none."""
        with contextlib.suppress(UnusualMessageError):
            return _max_field_id(self._raw)
        messages = self.messages()
        ids = (max(file.fields) for message in messages for file in message.files if file.fields)
        return max(ids, default=TOMBSTONE)

    @property
    def positions(self) -> Mapping[int, int]:
        """List index by fragment id. Raises `CorruptFileError` if two fragments have one id."""
        if self._positions is None:
            ids = self.ids
            positions = {id_: position for position, id_ in enumerate(ids)}
            if len(positions) < len(ids):
                raise CorruptFileError("two fragments have the same id", field="Manifest.fragments")
            self._positions = positions
        return self._positions

    def by_id(self, fragment_id: int) -> Fragment | None:
        """The fragment with this id, or None. Raises like `positions`."""
        position = self.positions.get(fragment_id)
        return None if position is None else self[position]

    def without(self, other: FragmentList) -> FragmentList:
        """The fragments whose bytes ``other`` does not have, none of which is decoded."""
        shared = _num_equal(self._raw, other._raw)
        own, others = self._raw[shared:], frozenset(other._raw[shared:])
        if not others:
            return self[shared:]
        return FragmentList(raw for raw in own if raw not in others)

    def new_data_since(self, before: FragmentList) -> Iterator[Fragment]:
        """The fragments that ``before`` does not have, or has with other data files.

        Fragments with the same bytes in both lists are not decoded. Raises like `positions`.
        """
        for fragment in self.without(before):
            known = before.by_id(fragment.id)
            if known is None or known.files != fragment.files:
                yield fragment

    def by_ascending_id(self) -> FragmentList:
        """This list sorted by fragment id; the list itself if it is sorted already."""
        ids = self.ids
        order = sorted(range(len(ids)), key=ids.__getitem__)
        if order == list(range(len(ids))):
            return self
        made = FragmentList(self._raw[position] for position in order)
        made._decoded.update(
            (index, self._decoded[position])
            for index, position in enumerate(order)
            if position in self._decoded
        )
        return made

    def changed(self, updated: Mapping[int, Fragment], removed: Collection[int]) -> FragmentList:
        """This list with fragments replaced or removed by id; the others keep their bytes."""
        remaining = [
            (position, updated.get(id_))
            for position, id_ in enumerate(self.ids)
            if id_ not in removed
        ]
        made = FragmentList(
            self._raw[position] if new is None else new.to_bytes() for position, new in remaining
        )
        for index, (position, new) in enumerate(remaining):
            decoded = self._decoded.get(position) if new is None else new
            if decoded is not None:
                made._decoded[index] = decoded
        return made


def _num_equal(left: tuple[bytes, ...], right: tuple[bytes, ...]) -> int:
    """The number of first items that are equal in both."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return next(index for index in range(most) if left[index] != right[index])


def fragment_ids(fragments: Iterable[Fragment]) -> tuple[int, ...]:
    """Ids in the order of ``fragments``; a `FragmentList` is not fully decoded for this."""
    if isinstance(fragments, FragmentList):
        return fragments.ids
    return tuple(fragment.id for fragment in fragments)


def without_counts(fragments: FragmentList) -> FragmentList:
    """``fragments`` with all row counts set to unknown; the same list if it has no counts."""
    messages = fragments.messages()
    counted = [m.physical_rows or m.deletion_file.num_deleted_rows for m in messages]
    if not any(counted):
        return fragments
    for message in messages:
        message.physical_rows = 0
        if message.HasField("deletion_file"):
            message.deletion_file.num_deleted_rows = 0
    return FragmentList(message.SerializeToString() for message in messages)


def _max_field_id(raw: Sequence[bytes]) -> int:
    """The highest id in serialized ``DataFragment`` messages, `TOMBSTONE` or less if there is none.

    The files of a table have few distinct lists of fields, each of which is decoded once. Raises
    `UnusualMessageError`, see `scan_fields`.
    """
    fragments = MessageRanges.of(raw)
    files = scan_fields(fragments, (), (_FILES,))[_FILES].contents(fragments.data)
    fields = scan_fields(files, (), (_FIELDS,))[_FIELDS]
    if len(fields.owners) != len(files.starts) or (fields.owners[1:] == fields.owners[:-1]).any():
        raise UnusualMessageError  # ids that are not packed, or in several parts
    data, lists = fragments.data.tobytes(), fields.contents(fragments.data)
    ranges = zip(lists.starts.tolist(), lists.ends.tolist(), strict=True)
    # One file for each list of fields.
    owners = {data[start:end]: owner for owner, (start, end) in enumerate(ranges)}
    highest = TOMBSTONE
    for owner in owners.values():
        file = data[int(files.starts[owner]) : int(files.ends[owner])]
        ids = parse(table_pb2.DataFile, file, "DataFragment.files").fields
        highest = max(highest, *ids) if ids else highest
    return highest


def _decode_block(raw: list[bytes]) -> list[Fragment]:
    """Decode several fragments in one protobuf call, which is faster than one call each.

    Not if one of them has many row ids: to copy these takes longer than the calls.
    """
    if max(map(len, raw)) > _MAX_JOINED_BYTES:
        return [Fragment.from_bytes(data) for data in raw]
    joined = frames_pb2.ManifestFrame(fragments=raw).SerializeToString()
    try:
        message = parse(table_pb2.Manifest, joined, "Manifest.fragments")
    except CorruptFileError:
        return [Fragment.from_bytes(data) for data in raw]
    if not all_known(message, len(joined)):
        return [Fragment.from_bytes(data) for data in raw]
    return [Fragment.from_proto(fragment, keep_unknown=False) for fragment in message.fragments]
