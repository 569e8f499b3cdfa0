"""Which account, container and credentials are meant by URLs, options and the environment."""

from __future__ import annotations

import re
import sys

import pytest

from lance_core.errors import InvalidInputError, PluginLoadError, UnsupportedFeatureError
from lance_core.store.base import Guarantee
from lance_core.store.uri import parse_uri
from lance_core_azure.client import AzureClient
from lance_core_azure.credentials import Kind
from lance_core_azure.options import ALIASES, BY_NAME, NAMES, SECRETS, TABLE, Use
from lance_core_azure.plugin import lance_object_stores
from lance_core_azure.settings import EMULATOR_KEY, AzureSettings, read_settings
from lance_core_remote import settings as shared
from tests.each_case import each_case

(SPEC,) = lance_object_stores()
SOME_KEY = "c29tZSBrZXk="


def settled(
    uri: str, environment: dict[str, str] | None = None, /, **options: str
) -> AzureSettings:
    given = SPEC.canonical_options(options)
    assert not SPEC.undeclared_options(options)
    return read_settings(parse_uri(uri), given, environment or {})


PLACES = {
    "az://c/t": ("https://acct.blob.core.windows.net", "acct", "c"),
    "az://$root/t": ("https://acct.blob.core.windows.net", "acct", "$root"),
    "abfss://c/t": ("https://acct.blob.core.windows.net", "acct", "c"),
    "abfss://c@a.dfs.core.windows.net/t": ("https://a.blob.core.windows.net", "a", "c"),
    "az://c@a.blob.core.windows.net/t": ("https://a.blob.core.windows.net", "a", "c"),
    "az://c@A.DFS.core.windows.net/t": ("https://a.blob.core.windows.net", "a", "c"),
    "az://c@a/t": ("https://a.blob.core.windows.net", "a", "c"),
    "az://c@a.dfs.core.usgovcloudapi.net/t": ("https://a.blob.core.usgovcloudapi.net", "a", "c"),
    "az://ws@onelake.dfs.fabric.microsoft.com/t": (
        *("https://onelake.blob.fabric.microsoft.com", "onelake", "ws"),
    ),
}


@each_case(("uri", "place"), PLACES.items(), ids=PLACES.keys())
def test_a_url_means(uri: str, place: tuple[str, str, str]) -> None:
    found = settled(uri, account_key=SOME_KEY, **({} if "@" in uri else {"account_name": "acct"}))
    assert (found.endpoint, found.account, found.container) == place


NOT_PLACES = (
    "az:///t",
    "az://c_d/t",
    "az://-c/t",
    f"az://{'c' * 64}/t",
    "az://c@a.evil.example/t",
    "az://c@a.dfs.core.windows.net.evil.example/t",
    "az://c@.dfs.core.windows.net/t",
    "az://c:pa55@a.dfs.core.windows.net/t",
    "az://c@a.dfs.core.windows.net:81/t",
)


@each_case("uri", NOT_PLACES)
def test_a_url_that_names_no_container_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        settled(uri, account_name="acct", account_key=SOME_KEY)
    assert "pa55" not in str(caught.value)


@each_case("name", sorted(ALIASES))
def test_every_name_leads_to_its_option_in_any_case(name: str) -> None:
    for spelling in (name, name.upper(), name.title()):
        (canonical,) = SPEC.canonical_options({spelling: "1"})
        assert canonical == ALIASES[name]
    assert ALIASES[name] in NAMES


KNOWN_TO_PYLANCE = re.findall(
    r"\w+",
    """
    azure_storage_account_key azure_storage_access_key azure_storage_master_key master_key
    account_key access_key azure_storage_account_name account_name azure_storage_client_id
    azure_client_id client_id azure_storage_client_secret azure_client_secret client_secret
    azure_storage_tenant_id azure_storage_authority_id azure_tenant_id azure_authority_id tenant_id
    authority_id azure_storage_authority_host azure_authority_host authority_host
    azure_storage_sas_key azure_storage_sas_token sas_key sas_token azure_storage_token bearer_token
    token azure_storage_use_emulator use_emulator azure_storage_endpoint azure_endpoint endpoint
    azure_msi_endpoint azure_identity_endpoint identity_endpoint msi_endpoint azure_object_id
    object_id azure_msi_resource_id msi_resource_id azure_federated_token_file federated_token_file
    azure_use_fabric_endpoint use_fabric_endpoint azure_use_azure_cli use_azure_cli
    azure_skip_signature skip_signature azure_container_name container_name azure_disable_tagging
    disable_tagging azure_fabric_token_service_url fabric_token_service_url
    azure_fabric_workload_host fabric_workload_host azure_fabric_session_token fabric_session_token
    azure_fabric_cluster_identifier fabric_cluster_identifier azure_credential_type credential_type
    azure_storage_encryption_key encryption_key azure_allow_http allow_http timeout connect_timeout
    client_max_retries client_retry_timeout download_retry_count user_agent proxy_url
    azure_proxy_url use_opendal expires_at_millis refresh_offset_millis
    """,
)


@each_case("name", KNOWN_TO_PYLANCE)
def test_every_option_of_pylance_is_known(name: str) -> None:
    assert not SPEC.undeclared_options({name: "1"})


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    assert SPEC.undeclared_options({"acount_key": "1"}) == ["acount_key"]
    assert "'account_key'" in str(SPEC.refusal("acount_key"))


@each_case("name", [one.name for one in TABLE if one.use is Use.REFUSED])
def test_an_option_that_cannot_be_had_is_refused_by_name(name: str) -> None:
    given = {"account_name": "acct", "account_key": SOME_KEY}
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        settled("az://c/t", **given, **{name: "pa55"})
    assert "pa55" not in str(caught.value)
    assert settled("az://c/t", **given, **{name: "false"}).account == "acct"


@each_case("name", [one.name for one in TABLE if one.use is Use.IGNORED])
def test_an_option_that_changes_nothing_is_accepted(name: str) -> None:
    given = {"account_name": "acct", "account_key": SOME_KEY}
    assert settled("az://c/t", **given, **{name: "true"}) == settled("az://c/t", **given)


PRINCIPAL = {"client_id": "id", "client_secret": "secret", "tenant_id": "tenant"}
WORKLOAD = {"client_id": "id", "tenant_id": "tenant", "federated_token_file": "/file"}
CREDENTIALS: dict[str, tuple[dict[str, str], Kind]] = {
    "a key": ({"account_key": SOME_KEY}, Kind.KEY),
    "a key by another name": ({"ACCESS_KEY": SOME_KEY}, Kind.KEY),
    "a signature": ({"sas_token": "?sv=1&sig=a"}, Kind.SIGNATURE),
    "a token": ({"bearer_token": "abc"}, Kind.TOKEN),
    "a principal": (PRINCIPAL, Kind.PRINCIPAL),
    "a workload identity": (WORKLOAD, Kind.WORKLOAD),
    "the command line": ({"use_azure_cli": "true"}, Kind.CLI),
    "a managed identity": ({"object_id": "x"}, Kind.MANAGED),
    "another managed identity": ({"msi_resource_id": "x"}, Kind.MANAGED),
    "nobody": ({"skip_signature": "true", "account_key": SOME_KEY}, Kind.ANONYMOUS),
    "nothing": ({}, Kind.DEFAULT),
    "an identity of the environment": ({"client_id": "x"}, Kind.DEFAULT),
    "a token before a key": ({"bearer_token": "abc", "account_key": SOME_KEY}, Kind.TOKEN),
    "a key before a principal": ({"account_key": SOME_KEY, **PRINCIPAL}, Kind.KEY),
    "a principal before a signature": ({"sas_token": "sig=a", **PRINCIPAL}, Kind.PRINCIPAL),
    "what is asked for": (
        {"account_key": SOME_KEY, "sas_token": "sig=a", "credential_type": "SAS_token"},
        Kind.SIGNATURE,
    ),
    "a managed identity that is asked for": (
        {"credential_type": "managed_identity"},
        Kind.MANAGED,
    ),
}


@each_case(("options", "kind"), CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_options_choose_the_credentials(options: dict[str, str], kind: Kind) -> None:
    found = settled("az://c/t", account_name="acct", **options)
    assert found.credentials.kind is kind
    assert AzureClient(found, lambda: found.credentials).name == "az://c@acct"


MALFORMED = {
    "no account": {"account_key": SOME_KEY},
    "a key that is none": {"account_name": "acct", "account_key": "pa55 pa55"},
    "a signature that is none": {"account_name": "acct", "sas_token": "pa55"},
    "a signature of two lines": {"account_name": "acct", "sas_token": "sig=pa55\nHost: x"},
    "a token of two lines": {"account_name": "acct", "bearer_token": "pa55\r\nHost: x"},
    "an unknown type": {"account_name": "acct", "credential_type": "magic"},
    "a type without its option": {"account_name": "acct", "credential_type": "client_secret"},
    "an endpoint with a query": {"endpoint": "https://h/?sig=pa55"},
    "an endpoint with a password": {"endpoint": "https://u:pa55@h/a"},
    "an endpoint of another kind": {"endpoint": "ftp://h/a"},
    "an endpoint without a host": {"endpoint": "https:///a"},
    "an endpoint with a port that is none": {"endpoint": "https://h:99999/a"},
    "an endpoint without TLS": {"endpoint": "http://h/a"},
    "another container": {"container_name": "other"},
    "a flag that is none": {"use_emulator": "maybe"},
    "an account that is none": {"account_name": "a.evil.example/"},
    "a token without TLS": {
        "bearer_token": "abc",
        "endpoint": "http://h/a",
        "allow_http": "true",
    },
}


@each_case("options", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_cannot_be_meant_is_refused(options: dict[str, str]) -> None:
    if "account_name" not in options and "account_key" not in options:
        options = options | {"account_name": "acct"}
    with pytest.raises(InvalidInputError) as caught:
        settled("az://c/t", **options)
    assert "pa55" not in str(caught.value)


def test_the_environment_says_what_options_do_not() -> None:
    environment = {
        "AZURE_STORAGE_ACCOUNT_NAME": "acct",
        "AZURE_STORAGE_ACCOUNT_KEY": SOME_KEY,
        "AZURE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:1/acct",
        "AZURE_FABRIC_WORKLOAD_HOST": "ignored",
        "AZURE_CONFIG_DIR": "not ours",
        "ACCOUNT_NAME": "not ours",
    }
    found = settled("az://c/t", environment)
    assert (found.endpoint, found.account) == ("http://127.0.0.1:1/acct", "acct")
    assert found.credentials.kind is Kind.KEY
    given = settled("az://c/t", environment, account_name="other")
    assert given.account == "other"


def test_the_environment_of_the_command_line_is_known() -> None:
    found = settled("az://c/t", {"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": SOME_KEY})
    assert (found.account, found.credentials.kind) == ("acct", Kind.KEY)


def test_credentials_that_are_given_are_not_mixed_with_those_of_the_environment() -> None:
    environment = {"AZURE_STORAGE_ACCOUNT_KEY": SOME_KEY, "AZURE_STORAGE_ACCOUNT_NAME": "acct"}
    found = settled("az://c/t", environment, sas_token="sv=1&sig=a")
    assert found.credentials.kind is Kind.SIGNATURE


def test_the_emulator_needs_nothing_else() -> None:
    found = settled("az://c/t", use_emulator="true")
    assert found.endpoint == "http://127.0.0.1:10000/devstoreaccount1"
    assert found.credentials.secret.reveal() == EMULATOR_KEY
    moved = {"AZURITE_BLOB_STORAGE_URL": "http://127.0.0.1:99"}
    assert settled("az://c/t", moved, use_emulator="true").endpoint.startswith(
        "http://127.0.0.1:99/"
    )


@pytest.mark.parametrize("quoted", ["sv=1&sig=a%2Fb%2Bc%3D", "?sv=1&sig=a/b+c="])
def test_a_signature_may_be_quoted_or_not(quoted: str) -> None:
    found = settled("az://c/t", account_name="acct", sas_token=quoted)
    assert found.credentials.secret.reveal() == "sv=1&sig=a%2Fb%2Bc%3D"


def test_only_microsofts_hosts_are_taken_at_their_word() -> None:
    known = settled("az://c/t", account_name="acct", account_key=SOME_KEY)
    other = settled(
        "az://c/t", account_name="acct", account_key=SOME_KEY, endpoint="https://h.example/acct"
    )
    by_host = {
        settings.host: AzureClient(settings, lambda: known.credentials).capabilities.put_if_absent
        for settings in (known, other)
    }
    assert by_host == {
        "acct.blob.core.windows.net": Guarantee.YES,
        "h.example": Guarantee.UNKNOWN,
    }


def test_a_missing_library_for_tokens_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    found = settled("az://c/t", account_name="acct")
    with pytest.raises(PluginLoadError, match=re.escape("lance-core-azure[identity]")):
        AzureClient(found, lambda: found.credentials)


def test_secrets_are_those_that_sound_like_it() -> None:
    assert {"account_key", "sas_token", "bearer_token", "client_secret"} <= SECRETS
    assert shared.SECRET_OPTIONS <= SECRETS
    assert BY_NAME.keys() | shared.OPTIONS == NAMES
