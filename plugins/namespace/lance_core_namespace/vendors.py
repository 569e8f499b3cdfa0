"""Vendors of credentials: temporary keys for the folder of one table, instead of the own ones."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from lance_namespace import errors

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, plain, without_frames
from lance_core.hookspecs.stores import parse_uri

PREFIX = "credential_vendor."
_AWS = "credential_vendor.aws_"
_PERMISSIONS = {
    "read": ("s3:GetObject",),
    "write": ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"),
    "admin": ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"),
}
_MIN_SECONDS, _MAX_SECONDS = 900, 43_200
_USED = 0.5
"""The part of their lifetime for which keys are given to others: what remains is for them."""


class CredentialVendor(Protocol):
    """Returns storage options with which others open one table, for some time."""

    def vend(self, location: str) -> Mapping[str, str | Secret]:
        """The options, with their end ``expires_at_millis`` in milliseconds since 1970."""


def vendor_of(
    properties: Mapping[str, str], options: Mapping[str, str | Secret]
) -> CredentialVendor | None:
    """The vendor that properties ask for; ``options``: those of the own store.

    Raises `UnsupportedFeatureError` for clouds other than Amazon's, and `InvalidInputError`.
    """
    named = {name for name in properties if name.startswith(PREFIX)}
    if properties.get(f"{PREFIX}enabled", "false").lower() != "true":
        return None
    others = sorted(
        name
        for name in named - {f"{PREFIX}enabled", f"{PREFIX}permission"}
        if not name.startswith(_AWS)
    )
    if others:
        raise UnsupportedFeatureError(
            f"property {others[0]!r} is not supported: credentials are vended for s3:// only"
        )
    return AwsVendor(properties, options)


class AwsVendor:
    """Keys of a role of AWS that are good for the folder of one table; asked for by STS."""

    def __init__(self, properties: Mapping[str, str], options: Mapping[str, str | Secret]) -> None:
        role = properties.get(f"{_AWS}role_arn")
        if not role:
            raise InvalidInputError(f"vended credentials need the property {_AWS}role_arn")
        permission = properties.get(f"{PREFIX}permission", "read").lower()
        if permission not in _PERMISSIONS:
            raise InvalidInputError(
                f"property {PREFIX}permission is one of {', '.join(_PERMISSIONS)}"
            )
        millis = properties.get(f"{_AWS}duration_millis", "3600000")
        if not millis.isdigit() or not _MIN_SECONDS <= int(millis) // 1000 <= _MAX_SECONDS:
            raise InvalidInputError(
                f"property {_AWS}duration_millis is from 900000 to 43200000, got {millis[:20]!r}"
            )
        self._role, self._permission, self._seconds = role, permission, int(millis) // 1000
        self._external_id = properties.get(f"{_AWS}external_id")
        self._session_name = properties.get(f"{_AWS}role_session_name", "lance-core")
        self._options = {name.lower(): value for name, value in options.items()}
        self._region = properties.get(f"{_AWS}region") or self._option("region")
        self._vended: dict[str, tuple[float, dict[str, str | Secret]]] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_vended": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def vend(self, location: str) -> Mapping[str, str | Secret]:
        """Keys for the folder at ``location``; the same ones for half of their lifetime."""
        with self._lock:
            until, options = self._vended.get(location, (0.0, {}))
            if time.time() < until:
                return options
            options = self._assumed(location)
            end = int(plain(options["expires_at_millis"])) / 1000
            now = time.time()
            self._vended = {uri: keys for uri, keys in self._vended.items() if keys[0] > now}
            self._vended[location] = (now + (end - now) * _USED, options)
            return options

    def _assumed(self, location: str) -> dict[str, str | Secret]:
        url = parse_uri(location)
        if url.scheme not in {"s3", "s3a", "s3n"}:
            raise errors.UnsupportedOperationError(
                f"credentials are vended for s3:// only, and the table is at {url.scheme}://"
            )
        request = {
            "RoleArn": self._role,
            "RoleSessionName": self._session_name,
            "DurationSeconds": self._seconds,
            "Policy": _policy(url.netloc, url.path, self._permission),
        }
        if self._external_id:
            request["ExternalId"] = self._external_id
        failure = None
        try:
            answer = self._client().assume_role(**request)["Credentials"]
        except Exception as error:
            without_frames(error)
            failure = type(error).__name__
        if failure is not None:
            raise errors.ServiceUnavailableError(
                f"STS gave no credentials for the role of the namespace ({failure})"
            )
        vended: dict[str, str | Secret] = {
            "aws_access_key_id": Secret(answer["AccessKeyId"]),
            "aws_secret_access_key": Secret(answer["SecretAccessKey"]),
            "aws_session_token": Secret(answer["SessionToken"]),
            "expires_at_millis": str(int(answer["Expiration"].timestamp() * 1000)),
        }
        for name in ("region", "endpoint", "allow_http"):
            value = self._option(name)
            if value is not None:
                vended[name if name == "allow_http" else f"aws_{name}"] = value
        return vended

    def _client(self) -> Any:
        import boto3

        key, secret = self._option("access_key_id"), self._option("secret_access_key")
        return boto3.client(
            "sts",
            region_name=self._region or "us-east-1",
            endpoint_url=self._option("endpoint"),
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=self._option("session_token"),
        )

    def _option(self, name: str) -> str | None:
        for spelling in (f"aws_{name}", name, f"aws_{name}_url", f"{name}_url"):
            if spelling in self._options:
                return plain(self._options[spelling])
        return None


def _policy(bucket: str, folder: str, permission: str) -> str:
    """A policy of IAM for one folder of a bucket."""
    objects = f"arn:aws:s3:::{bucket}/{folder}/*" if folder else f"arn:aws:s3:::{bucket}/*"
    listing: dict[str, Any] = {
        "Effect": "Allow",
        "Action": ["s3:ListBucket", "s3:GetBucketLocation"],
        "Resource": [f"arn:aws:s3:::{bucket}"],
    }
    if folder:
        listing["Condition"] = {"StringLike": {"s3:prefix": [folder, f"{folder}/*"]}}
    access = {"Effect": "Allow", "Action": list(_PERMISSIONS[permission]), "Resource": [objects]}
    return json.dumps({"Version": "2012-10-17", "Statement": [listing, access]})
