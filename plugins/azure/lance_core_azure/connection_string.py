"""The parts of a connection string, ``AccountName=…;AccountKey=…;BlobEndpoint=…``."""

from __future__ import annotations

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, plain
from lance_core_remote.option_values import Options, described, take

NAME = "connection_string"

_OPTIONS = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_token",
    "blobendpoint": "endpoint",
}
"""Parts that are options, by name in lower case."""

_SECRETS = frozenset({"account_key", "sas_token"})


def expand(options: Options) -> None:
    """Replace the option for the connection string by the options for its parts.

    Options that are given beside it keep their values. Raises `InvalidInputError`, which shows no
    part, if the string is malformed or is for another account than that of the options.
    """
    what = described(options, NAME)
    text = take(options, NAME)
    if text is None:
        return
    parts = _parts(text, what)
    if parts.get("usedevelopmentstorage", "").lower() == "true":
        options.setdefault("use_emulator", "true")
        return
    account = parts.get("accountname")
    if account and "account_name" in options and plain(options["account_name"]) != account:
        raise InvalidInputError(
            f"{what} is for another account than {described(options, 'account_name')}"
        )
    suffix, scheme = parts.get("endpointsuffix"), parts.get("defaultendpointsprotocol", "https")
    is_public = suffix in {None, "core.windows.net"} and scheme.lower() == "https"
    if account and "blobendpoint" not in parts and not is_public:
        parts["blobendpoint"] = f"{scheme}://{account}.blob.{suffix or 'core.windows.net'}"
    for part, name in _OPTIONS.items():
        if parts.get(part):
            value = parts[part]
            options.setdefault(name, Secret(value) if name in _SECRETS else value)


def _parts(text: str, what: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.strip().split(";") if part.strip()]
    parts = {name.strip().lower(): value.strip() for name, _, value in pairs}
    is_known = bool({"accountname", "blobendpoint", "usedevelopmentstorage"} & parts.keys())
    if not is_known or not all(equals for _, equals, _ in pairs):
        raise InvalidInputError(f"{what} must be like 'AccountName=…;AccountKey=…'")
    return parts
