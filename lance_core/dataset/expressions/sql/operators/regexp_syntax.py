r"""Patterns and replacements of Rust's `regex`, which pylance has, in the syntax of RE2.

RE2 knows only ASCII in ``\w``, ``\d`` and ``\s``, has no flag x, and writes groups in replacements
as ``\1``. What cannot be translated raises `UnsupportedFeatureError`, which names it; ``\b`` keeps
RE2's meaning.
"""

from __future__ import annotations

import functools
import re

from lance_core.errors import UnsupportedFeatureError

TOKENS = re.compile(
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
"""The parts of a pattern: groups and sets in brackets are what both syntaxes have."""

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
    return "".join(_token(match, is_verbose) for match in TOKENS.finditer(pattern))


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
