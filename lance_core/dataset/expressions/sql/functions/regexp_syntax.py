r"""Patterns and replacements of Rust's `regex`, which pylance has, in the syntax of RE2.

RE2 knows only ASCII in ``\w``, ``\d`` and ``\s``, has no flag x, and writes groups in replacements
as ``\1``. What cannot be translated raises `UnsupportedFeatureError`, which names it; ``\b`` keeps
RE2's meaning.
"""

from __future__ import annotations

import functools
import re

from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_TOKENS = re.compile(
    r"""(?P<code>\\u(?:\{(?P<braced>[0-9a-fA-F]{1,6})\}|(?P<hex>[0-9a-fA-F]{4})))
    | (?P<unknown>\\[<>hHRXZ] | \\b\{ | \(\?[a-zA-Z-]*x)
    | (?P<escape>\\[pP](?:\{[^}]*\}|.) | \\x\{[^}]*\} | \\x.. | \\.)
    | (?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
    | (?P<named>\(\?P?<(?P<name>[A-Za-z_]\w*)>)
    | (?P<group>\((?!\?))
    | (?P<comment>\#[^\n]*)
    | (?P<space>\s)
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_MEMBERS = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\[:\^?\w+:\]|\\u\{[0-9a-fA-F]{1,6}\}|\\.|.", re.DOTALL
)

_WORD = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{200c}\x{200d}"
_NO_WORD = (
    r"\p{Cc}\p{Cf}\p{Co}\p{Z}\p{Sm}\p{Sc}\p{Sk}\p{No}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}"
    r"\x{9c}-\x{9f}\x{2500}-\x{2bff}\x{1f000}-\x{1faff}"
)
_SPACE = r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NO_SPACE = (
    r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_CLASSES = {
    r"\w": _WORD,
    r"\W": _NO_WORD,
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    r"\s": _SPACE,
    r"\S": _NO_SPACE,
}
"""Members of the sets that Unicode extends. Unicode's sets of symbols are listed by blocks."""

FLAGS = frozenset("imsUx")
"""The flags of a pattern: ignore case, lines, ``.`` matches newlines, greediness, spaces."""


def to_re2(what: str, pattern: str, flags: str) -> str:
    """The pattern with its flags in RE2's syntax; ``what`` names the function in errors."""
    unknown = sorted(set(flags) - FLAGS)
    if unknown:
        raise UnsupportedFeatureError(f"{what} with the flag {unknown[0]!r}")
    inline = "".join(sorted(set(flags) - {"x"}))
    translated = _translated(pattern, "x" in flags)
    return f"(?{inline}){translated}" if inline else translated


@functools.lru_cache(maxsize=256)
def _translated(pattern: str, is_verbose: bool) -> str:
    if pattern.isalnum() and pattern.isascii():
        return pattern
    return "".join(_token(match, is_verbose) for match in _TOKENS.finditer(pattern))


def _token(token: re.Match[str], is_verbose: bool) -> str:
    text = token[0]
    match token.lastgroup:
        case "unknown":
            raise UnsupportedFeatureError(f"{text} in a regular expression")
        case "escape":
            return _OUTSIDE.get(text, text)
        case "class":
            return _class(text, is_verbose)
        case "named":
            return f"(?P<{token['name']}>"
        case "comment" | "space" if is_verbose:
            return ""
    if token["code"]:
        return rf"\x{{{token['braced'] or token['hex']}}}"
    return text


_OUTSIDE = {
    **{sign: f"[{members}]" for sign, members in _CLASSES.items()},
    r"\W": f"[^{_WORD}]",
    r"\S": f"[^{_SPACE}]",
}
"""The sets outside of brackets, where they can be negated."""


def _class(text: str, is_verbose: bool) -> str:
    """A set in brackets, with the members that Unicode extends."""
    head = 2 if text.startswith("[^") else 1
    body = text[head:-1]
    for operator in ("&&", "--", "~~"):
        if operator in body.replace("\\" + operator[0], ""):
            raise UnsupportedFeatureError(f"{operator} in brackets of a regular expression")
    if "[" in re.sub(r"\\.|\[:\^?\w+:\]", "", body):
        raise UnsupportedFeatureError("brackets in brackets of a regular expression")
    members = [match[0] for match in _MEMBERS.finditer(body)]
    if is_verbose:
        members = [member for member in members if not member.isspace()]
    return text[:head] + "".join(_CLASSES.get(member, member) for member in members) + "]"


def group_names(pattern: str) -> list[str | None]:
    """The names of the capturing groups in order, None for those without."""
    tokens = _TOKENS.finditer(pattern)
    return [token["name"] for token in tokens if token["group"] or token["named"]]


def with_numbered_groups(pattern: str) -> tuple[str, int]:
    """A pattern of RE2 with groups named g0, g1, … as Arrow needs it, and their number.

    A pattern without groups is wrapped into the group g0; its number of groups is 0.
    """
    count = 0

    def renamed(token: re.Match[str]) -> str:
        nonlocal count
        if not (token["group"] or token["named"]):
            return token[0]
        count += 1
        return f"(?P<g{count - 1}>"

    result = _TOKENS.sub(renamed, pattern)
    return (result, count) if count else (f"(?P<g0>{pattern})", 0)


_POSIX_GROUP = re.compile(r"\\{1,2}(\d+)")
_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[^}]*)\}|(?P<plain>[0-9A-Za-z_]+))")


def replacement_to_re2(replacement: str, names: list[str | None]) -> str:
    r"""A replacement in RE2's syntax; ``names`` are those of `group_names`.

    ``$1``, ``${1}``, ``$name``, ``${name}`` and ``\1`` stand for groups, ``$0`` for the match,
    ``$$`` for a dollar. A group that the pattern does not have is empty; other backslashes are
    literal.
    """
    text = _POSIX_GROUP.sub(lambda reference: f"${{{reference[1]}}}", replacement)
    parts: list[str] = []
    position = 0
    for reference in _REFERENCE.finditer(text):
        parts.append(text[position : reference.start()].replace("\\", r"\\"))
        parts.append(
            "$" if reference["dollar"] else _group(reference["braced"] or reference["plain"], names)
        )
        position = reference.end()
    return "".join([*parts, text[position:].replace("\\", r"\\")])


def _group(name: str | None, names: list[str | None]) -> str:
    if name and name.isascii() and name.isdecimal():
        number = int(name[:6])
    elif name and name in names:
        number = names.index(name) + 1
    else:
        return ""
    if number > len(names):
        return ""
    if number > MAX_GROUP:
        raise UnsupportedFeatureError(f"the group {name} in a replacement of regexp_replace")
    return f"\\{number}"


MAX_GROUP = 9
"""The last group that RE2 can replace by."""


def check_groups(what: str, pattern: str, number: int) -> None:
    """Raise `InvalidInputError` if the pattern has no group ``number``."""
    count = len(group_names(pattern))
    if not 0 <= number <= count:
        raise InvalidInputError(f"{what}: the pattern has {count} groups, not a group {number}")
