"""Recognize texts that are probably secrets, and remove known secrets from messages.

Secrets end up in the wrong place: a key in the option that expects a file, a token as the name of a
region. Everything here takes time proportional to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

_TELLING = (
    *("secret", "token", "passw", "pwd", "passphrase", "credential", "signature", "private"),
    *("accesskey", "accountkey", "apikey", "masterkey", "sharedkey", "encryptionkey", "saskey"),
    *("customerkey", "connectionstring"),
)
_SHORT = frozenset({"sig", "sas"})
"""Names that mean a secret only if they are the whole name."""

_USERINFO = re.compile(r"://[^/:]*:[^\s]")
"""Matches the part of a URL before an ``@`` if it contains a password."""

_PREFIXES = (
    *("eyJ", "ya29.", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "hf_", "dapi", "sk-", "SG."),
    *("xoxb-", "xoxp-", "AIza", "Bearer ", "Basic ", "SharedKey "),
)
"""How tokens of well-known services begin."""

_RANDOM = re.compile(r"[A-Za-z0-9+/_.~-]+={0,2}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}", re.ASCII)
_WORD = re.compile(r"[^\s\"'<>]+")
_ASSIGNMENT = re.compile(r"[;&?\s]+")

MAX_PATH = 300
"""Maximum characters of a path that is shown."""

MIN_RANDOM = 20
"""Minimum characters of a text that is taken for a random key or token."""

MIN_REDACTED = 4
"""Minimum characters of a secret that is masked wherever it occurs. Shorter texts occur in ordinary
words; masking them everywhere would make messages unreadable."""

_HIDDEN = "***"


def sounds_secret(name: str) -> bool:
    """True if an option or query parameter with this name probably holds a secret."""
    lower = name.lower()
    word = lower.replace("_", "").replace("-", "").replace(".", "")
    return (
        word in _SHORT
        or lower.startswith("headers.")
        or any(telling in word for telling in _TELLING)
    )


def secret_kind(text: str) -> str | None:
    """The kind of secret that ``text`` certainly is or contains, for an error; None for no secret.

    Recognizes private keys, JSON with secrets, connection strings, signatures, assignments such as
    ``password=…``, tokens of well-known services, and URLs with a password.
    """
    if len(text) < len("a:b@c") or (text.isascii() and text.isalnum() and len(text) < MIN_RANDOM):
        return None
    if "PRIVATE KEY" in text:
        return "a private key"
    start = text.lstrip("\"' \t\r\n\ufeff")
    if start[:1] in {"{", "["} and _is_secret_json(start):
        return "JSON with a secret"
    if has_password(text):
        return "a URL with a password"
    if any(map(_assigns_secret, _ASSIGNMENT.split(text))):
        return "a connection string or signature"
    if start.startswith(_PREFIXES) and len(start) >= MIN_RANDOM:
        return "a token"
    return None


def looks_random(text: str) -> bool:
    """True if ``text`` is probably a random key or token: a long hexadecimal number or base64.

    Names that people choose, and paths, change less often between letters and digits.
    """
    word = text.strip("\"' \t\r\n")
    if len(word) < MIN_RANDOM or word.startswith(("/", "~", ".")):
        return False
    if _HEX.fullmatch(word):
        return not (word.isdigit() or word.isalpha())
    if not _RANDOM.fullmatch(word):
        return False
    if not (any(map(str.isdigit, word)) and word.upper() != word and word.lower() != word):
        return False
    changes = sum(map(_is_unusual_change, word, word[1:]))
    return changes * 8 >= len(word)


def looks_secret(text: str) -> bool:
    """True if ``text`` is certainly or probably a secret, independent of its name."""
    return secret_kind(text) is not None or looks_random(text)


def has_password(text: str) -> bool:
    """True if ``text`` contains a URL with a password before an ``@``."""
    if "://" not in text:
        return False
    *users, _ = text.split("@")
    return any(_USERINFO.search(re.split(r"\s", user)[-1]) for user in users)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` with each of ``secrets`` replaced by ``***``, also where it is quoted or escaped.

    Secrets with fewer than `MIN_REDACTED` characters are replaced only between quotes or other
    delimiters, since they also occur in ordinary words.
    """
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) >= MIN_REDACTED:
            text = text.replace(form, _HIDDEN)
        else:
            text = re.sub(rf"(?<=['\"=:]){re.escape(form)}(?=['\"&@;])", _HIDDEN, text)
    return text


def without_queries(text: str) -> str:
    """``text`` without the queries of URLs, which may grant access."""
    return _WORD.sub(lambda word: _without_query(word[0]), text)


def _without_query(word: str) -> str:
    before, _, query = word.partition("?")
    return f"{before}?{_HIDDEN}" if "=" in query else word


def secrets_of_environment(environment: Mapping[str, str]) -> list[str]:
    """The values of environment variables that are probably secrets.

    SDKs read many variables and quote their values in errors. Paths are shown, because they help.
    """
    return [
        value
        for name, value in environment.items()
        if looks_secret(value)
        or (sounds_secret(name) and len(value) >= 8 and not value.startswith(("/", "~", ".")))
    ]


def shown_path(path: str) -> str:
    """``path`` in quotes, for an error, unless it may be a secret in the place of a path."""
    if looks_secret(path) or not path.isprintable() or len(path) > MAX_PATH:
        return "a text that is no path and not shown"
    return repr(path)


def texts_in(value: object) -> Iterator[str]:
    """The texts in a JSON value, at any depth, that are long enough to be secrets."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, str) and len(value) >= 8:
        yield value


def _forms(secret: str) -> set[str]:
    """The ways in which messages show ``secret``: as it is, in quotes, in URLs and line by line."""
    import json
    from urllib.parse import quote

    texts = {secret, secret.strip()}
    if secret.lstrip()[:1] in {"{", "["}:
        value = _parsed(secret)
        texts.update(() if value is None else texts_in(value))
    texts |= {line for text in texts for line in text.splitlines() if len(line) >= 8}
    forms = set(texts)
    for text in texts:
        forms |= {repr(text)[1:-1], json.dumps(text)[1:-1], quote(text, safe=""), quote(text)}
    return {form for form in forms if form}


def _is_unusual_change(before: str, after: str) -> bool:
    """True from a lower-case letter to a capital, and between a letter and a digit."""
    if before.isdigit() or after.isdigit():
        return before.isalpha() or after.isalpha()
    return before.islower() and after.isupper()


def _assigns_secret(part: str) -> bool:
    name, equals, value = part.partition("=")
    return bool(equals and value) and len(name) <= 80 and sounds_secret(name.strip("\"'-"))


def _is_secret_json(text: str) -> bool:
    """True if a JSON text names a secret; texts that cannot be parsed are judged by their words."""
    value = _parsed(text)
    if value is None:
        return sounds_secret(text)
    return secret_name_in(value) is not None


def _parsed(text: str) -> object:
    import json

    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def secret_name_in(value: object) -> str | None:
    """The first name in a JSON value that sounds secret and has a text as its value."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, dict):
            for name, held in inner.items():
                if sounds_secret(name) and isinstance(held, str):
                    return str(name)
            waiting += inner.values()
    return None
