"""What requirements bring: the distributions of their closure, linked into an environment.

pip would bring the same distributions and unpack them anew. Their metadata is what decides in
either case; whatever a requirement does not bring is missing from the environment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.environments import Environment

Distributions = dict[str, Distribution]
"""By canonical name."""


def distributions_in(*places: Path | str) -> Distributions:
    """The distributions of folders and wheels; of equal names the first one counts."""
    found: Distributions = {}
    for each in distributions(path=[str(place) for place in places]):
        found.setdefault(canonicalize_name(each.name), each)
    return found


def closure(requirements: Iterable[str], known: Distributions) -> Distributions:
    """What pip would install for ``requirements``, were only the ``known`` on its index."""
    chosen: Distributions = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert name in known, f"{requirement} is not installed"
        distribution = chosen[name] = known[name]
        assert requirement.specifier.contains(distribution.version, prereleases=True), requirement
        new = {("", name), *((extra, name) for extra in requirement.extras)} - seen
        seen |= new
        for needed in map(Requirement, distribution.requires or () if new else ()):
            extras = [extra for extra, _ in new]
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return chosen


def link(chosen: Distributions, known: Distributions, packages: Path) -> None:
    """Link the files of the ``chosen`` among the ``known`` into a folder of packages.

    A folder that belongs to one distribution is linked as a whole; of a folder that several share
    each file is linked.
    """
    owners = Counter(top for each in known.values() for top in _tops(each))
    for distribution in chosen.values():
        for top in _tops(distribution):
            if owners[top] == 1:
                _link(distribution, top, packages)
        for file in distribution.files or ():
            if owners[file.parts[0]] > 1:
                _link(distribution, str(file), packages)


def linked(installed: Environment, requirement: str, folder: Path) -> Environment:
    """An environment with what a requirement brings, of that which is ``installed``."""
    made = Environment.make(folder, installed.wheels)
    known = distributions_in(installed.packages)
    link(closure([requirement], known), known, made.packages)
    return made


def _tops(distribution: Distribution) -> set[str]:
    """The files and folders of a distribution at the top of the folder of packages."""
    lines = (distribution.read_text("RECORD") or "").splitlines()
    tops = {line.partition(",")[0].partition("/")[0] for line in lines}
    return tops - {"", "..", "__pycache__"}


def _link(distribution: Distribution, file: str, packages: Path) -> None:
    place = packages / file
    if not place.exists():  # an ``__init__.py`` may belong to several
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(str(distribution.locate_file(file)))
