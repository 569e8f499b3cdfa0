from __future__ import annotations

import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.table.manifest import feature_flags
from lance_core.table.manifest.feature_flags import FeatureFlags, FlagFacts
from tests.each_case import each_case

KNOWN = [0, 1, 2, 3, 4, 5, 7, 8]
NOTHING = FlagFacts(
    deletion_files=False, stable_row_ids=False, config=False, base_paths=False, indices=False
)


@each_case("bit", range(64))
def test_only_implemented_reader_bits_are_accepted(bit: int) -> None:
    if bit in KNOWN:
        feature_flags.check_readable(1 << bit)
    else:
        with pytest.raises(UnsupportedFeatureError, match=rf"unsupported.*bit {bit} "):
            feature_flags.check_readable(1 << bit)


@each_case("bit", range(64))
def test_only_implemented_writer_bits_are_accepted(bit: int) -> None:
    flags = FeatureFlags(writer=1 << bit)
    if bit in KNOWN and bit != 1:
        feature_flags.check_writable(flags)
    elif bit != 1:
        with pytest.raises(UnsupportedFeatureError, match=rf"unsupported.*bit {bit} "):
            feature_flags.check_writable(flags)


def test_who_cannot_read_must_not_write() -> None:
    with pytest.raises(UnsupportedFeatureError, match="data overlay files"):
        feature_flags.check_writable(FeatureFlags(reader=1 << 6))


def test_stable_row_ids_for_one_side_only_are_corrupt() -> None:
    feature_flags.check_writable(FeatureFlags(2, 2))
    for flags in (FeatureFlags(2, 0), FeatureFlags(0, 2)):
        with pytest.raises(CorruptFileError):
            feature_flags.check_writable(flags)


@each_case(
    ("previous", "facts", "expected"),
    [
        (FeatureFlags(), {}, FeatureFlags()),
        (FeatureFlags(1, 1), {}, FeatureFlags()),
        (FeatureFlags(), {"deletion_files": True}, FeatureFlags(1, 1)),
        (FeatureFlags(), {"stable_row_ids": True}, FeatureFlags(2, 2)),
        (FeatureFlags(0, 4), {}, FeatureFlags()),
        (FeatureFlags(), {"config": True}, FeatureFlags(0, 8)),
        (FeatureFlags(), {"base_paths": True}, FeatureFlags(16, 16)),
        (FeatureFlags(0, 32), {}, FeatureFlags(0, 32)),
        (FeatureFlags(128, 128), {"indices": True}, FeatureFlags(128, 128)),
        (FeatureFlags(128, 128), {}, FeatureFlags()),
        (FeatureFlags(), {"mixed_file_versions": True}, FeatureFlags(256, 256)),
    ],
)
def test_flags_of_a_new_version_follow_from_its_content(
    previous: FeatureFlags, facts: dict[str, bool], expected: FeatureFlags
) -> None:
    values = {name: getattr(NOTHING, name) for name in FlagFacts.__slots__} | facts
    assert feature_flags.recompute(previous, FlagFacts(**values)) == expected
