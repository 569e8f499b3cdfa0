"""The texts that each match of a regular expression contains.

Only runs of ordinary characters outside groups count. The analysis gives up, with no texts, for
alternatives, flags, and all syntax on which regular expression engines might differ.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<class>\[\^?+\]?+(?:[^\[\]\\]|\\.)*\])       # without nested classes
    |(?P<break>[.^$]|\\[dDwWsSbBAz])              # a character that is not known, or none
    |\\(?P<escaped>[-!"\#$%&'()*+,./:;<=>?@\[\\\]^_`{|}~])
    |(?P<open>\((?:\?:|(?!\?)))
    |(?P<close>\))
    |(?P<plain>[^\\\[\](){}|*+?])
    """,
    re.VERBOSE | re.DOTALL,
)
_REPETITION = re.compile(r"(?:(?P<again>\+)|[*?]|\{\d+(?:,\d*)?\})\??")


def required_literals(pattern: str) -> list[str]:
    """Texts that a string contains if ``pattern`` matches somewhere; empty if none are known."""
    runs, run, depth, position = [], "", 0, 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            # Alternatives inside a group concern only the group, which adds no text.
            if depth and pattern[position] == "|":
                position += 1
                continue
            return []
        repetition = _REPETITION.match(pattern, token.end())
        position = (repetition or token).end()
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth < 0 or (repetition and token.lastgroup == "open"):
            return []
        character = (token["plain"] or token["escaped"] or "") if not depth else ""
        if not character or repetition:
            again = character if repetition and repetition["again"] else ""
            runs.append(run + again)
            run = again
        else:
            run += character
    return [] if depth else [text for text in [*runs, run] if text]
