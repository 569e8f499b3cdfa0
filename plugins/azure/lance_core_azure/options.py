"""The storage options of Azure: all names that pylance accepts, and their treatment."""

from __future__ import annotations

from lance_core_remote import settings as shared
from lance_core_remote.options import Option, Use, ValueForm, variables_of

PREFIX = "azure_"
"""Prefix of option names and, in capitals, of environment variables."""

_PLACE = (
    Option(
        "account_name",
        "The storage account.",
        ("azure_storage_account_name",),
        ("AZURE_STORAGE_ACCOUNT",),
        ValueForm.NAME,
    ),
    Option(
        "connection_string",
        "`AccountName=…;AccountKey=…;BlobEndpoint=…`, as the portal of Azure shows it. Other "
        "options for the account, the endpoint and credentials replace its parts. Not known to "
        "pylance.",
        ("azure_storage_connection_string",),
        is_secret=True,
    ),
    Option(
        "container_name",
        "The container of the URI; another one is an error.",
        ("azure_container_name",),
        form=ValueForm.NAME,
    ),
    Option(
        "endpoint",
        "Address of the account at another server than Azure's, `http://127.0.0.1:10000/account`. "
        "Its guarantees are tested before the first commit.",
        ("azure_storage_endpoint", "azure_endpoint"),
        form=ValueForm.ADDRESS,
    ),
    Option(
        "use_emulator",
        "Azurite at `AZURITE_BLOB_STORAGE_URL`, else `http://127.0.0.1:10000`, with its account "
        "and key.",
        ("azure_storage_use_emulator", "object_store_use_emulator"),
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "use_fabric_endpoint",
        "OneLake: the account is at `blob.fabric.microsoft.com`.",
        ("azure_use_fabric_endpoint",),
        form=ValueForm.BOOLEAN,
    ),
)

_CREDENTIALS = (
    Option(
        "identity",
        "Name of a credential object of this process, as `register_credential` returns it. Not "
        "known to pylance.",
        ("azure_identity",),
        form=ValueForm.NAME,
    ),
    Option(
        "account_key",
        "Key of the account.",
        (
            *("azure_storage_account_key", "azure_storage_access_key", "azure_storage_master_key"),
            *("access_key", "master_key"),
        ),
        ("AZURE_STORAGE_KEY",),
        is_secret=True,
    ),
    Option(
        "sas_token",
        "Shared access signature.",
        ("azure_storage_sas_key", "azure_storage_sas_token", "sas_key"),
        is_secret=True,
    ),
    Option(
        "bearer_token",
        "Token of Entra ID.",
        ("azure_storage_token", "token"),
        is_secret=True,
    ),
    Option(
        "client_id",
        "The service principal, or the managed identity.",
        ("azure_storage_client_id", "azure_client_id"),
        form=ValueForm.IDENTIFIER,
    ),
    Option(
        "client_secret",
        "Its secret.",
        ("azure_storage_client_secret", "azure_client_secret"),
        is_secret=True,
    ),
    Option(
        "tenant_id",
        "Its tenant.",
        (
            *("azure_storage_tenant_id", "azure_storage_authority_id", "azure_tenant_id"),
            *("azure_authority_id", "authority_id"),
        ),
        form=ValueForm.IDENTIFIER,
    ),
    Option(
        "authority_host",
        "Host of Entra ID, for sovereign clouds.",
        ("azure_storage_authority_host", "azure_authority_host"),
        form=ValueForm.ADDRESS,
    ),
    Option(
        "federated_token_file",
        "File with the token of a workload identity.",
        ("azure_federated_token_file",),
        form=ValueForm.PATH,
    ),
    Option(
        "object_id",
        "The managed identity, by its object.",
        ("azure_object_id",),
        form=ValueForm.IDENTIFIER,
    ),
    Option(
        "msi_resource_id",
        "The managed identity, by its resource.",
        ("azure_msi_resource_id",),
        form=ValueForm.IDENTIFIER,
    ),
    Option(
        "use_azure_cli",
        "Tokens of the account that is logged in with `az`.",
        ("azure_use_azure_cli",),
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "skip_signature",
        "Send requests without credentials.",
        ("azure_skip_signature",),
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "credential_type",
        "`access_key`, `sas_token`, `bearer_token`, `client_secret`, `workload_identity`, "
        "`azure_cli` or `managed_identity`; `auto`: the first of these that is configured.",
        ("azure_credential_type",),
        form=ValueForm.NAME,
    ),
)

_OTHERS = (
    Option(
        "disable_tagging",
        "Nothing is tagged.",
        ("azure_disable_tagging",),
        form=ValueForm.BOOLEAN,
        use=Use.IGNORED,
    ),
    Option(
        "use_opendal",
        "It chooses between two clients of pylance.",
        form=ValueForm.BOOLEAN,
        use=Use.IGNORED,
    ),
    Option(
        "expires_at_millis",
        "To replace a token that expires, open the table again.",
        use=Use.IGNORED,
    ),
    Option("refresh_offset_millis", "Tokens are renewed before they expire.", use=Use.IGNORED),
    Option(
        "msi_endpoint",
        "azure-identity finds the endpoint of managed identities itself.",
        ("azure_msi_endpoint", "azure_identity_endpoint", "identity_endpoint"),
        use=Use.REFUSED,
    ),
    Option(
        "encryption_key",
        "Objects are not encrypted with keys of the client.",
        ("azure_storage_encryption_key",),
        use=Use.REFUSED,
        is_secret=True,
    ),
    Option(
        "fabric_token_service_url",
        "Tokens of Fabric are not requested: give `bearer_token`.",
        ("azure_fabric_token_service_url",),
        use=Use.REFUSED,
    ),
    Option("fabric_workload_host", "As above.", ("azure_fabric_workload_host",), use=Use.REFUSED),
    Option(
        "fabric_session_token",
        "As above.",
        ("azure_fabric_session_token",),
        use=Use.REFUSED,
        is_secret=True,
    ),
    Option(
        "fabric_cluster_identifier",
        "As above.",
        ("azure_fabric_cluster_identifier",),
        use=Use.REFUSED,
    ),
)

TABLE = (*_PLACE, *_CREDENTIALS, *_OTHERS)
"""Options of Azure only; `lance_core_remote.settings` has those of all remote stores."""

BY_NAME = {option.name: option for option in TABLE}

CREDENTIALS = frozenset(option.name for option in _CREDENTIALS) | {"connection_string"}
"""Names of the options that select credentials. If one of them is given, no credentials are
read from the environment."""


def _aliases() -> dict[str, str]:
    names = shared.aliases("azure_")
    for option in TABLE:
        names |= dict.fromkeys(option.others, option.name)
    return names


ALIASES = _aliases()
"""Alternative option names in lower case, with their canonical names."""

NAMES = frozenset(BY_NAME) | shared.OPTIONS
"""The canonical names of all options."""

SECRETS = frozenset(option.name for option in TABLE if option.is_secret) | shared.SECRET_OPTIONS


def _variables() -> dict[str, list[str]]:
    """The environment variables of each option. ``TOKEN`` alone may be of any service."""
    names = shared.variables(PREFIX)
    for option in TABLE:
        if option.use is not Use.REFUSED and option.name not in {"container_name", "identity"}:
            names[option.name] = [
                name for name in variables_of(option, (PREFIX,)) if name != "TOKEN"
            ]
    return names


VARIABLES = _variables()
"""The environment variables of each option, by precedence."""
