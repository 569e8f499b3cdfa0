"""The plugins of this project: the extra that installs each plugin, and the keys it serves.

The table is used for keys that no installed plugin provides. Installed plugins declare their own
keys (`ObjectStoreSpec`, `CommitHandlerSpec`, `IndexTypeSpec`, `SqlFunctionSpec`).
"""

from __future__ import annotations

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KnownPlugin:
    """A plugin and its extra.

    ``schemes``: URL schemes of its stores, including schemes that only other programs use for these
    stores. ``handlers``: names and URL suffixes of its commit handlers. ``file_versions``: names of
    the file versions that it reads and writes. ``index_types``: names of its index types, without
    underscores; the `details_key` of each is ``<name>indexdetails``. ``functions``: names and
    aliases of its SQL functions, in lower case. ``searches``: the arguments of scans that ask for
    its searches. ``analyzers``: names of its analyzers of texts. ``commands``: what it adds
    to the command ``lance-core``. ``tools``: names
    that users import from modules of the core, such as `lance_core.query`. ``namespaces``: names of
    its namespaces.
    """

    extra: str
    schemes: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    file_versions: tuple[str, ...] = ()
    index_types: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    analyzers: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


_SQL_FUNCTIONS = """
    abs acos acosh array_append array_cat array_concat array_contains array_distinct array_element
    array_except array_has array_has_all array_has_any array_intersect array_join array_length
    array_max array_min array_pop_back array_pop_front array_position array_positions array_prepend
    array_remove array_remove_all array_remove_n array_replace array_replace_all array_replace_n
    array_reverse array_slice array_sort array_to_string array_union arrow_cast arrow_try_cast ascii
    asin asinh atan atan2 atanh bit_length btrim cardinality cbrt ceil ceiling char_length
    character_length chr concat concat_ws contains cos cosh cot current_date current_timestamp
    date_bin date_format date_part date_trunc datepart datetrunc decode degrees digest empty encode
    ends_with exp factorial find_in_set flatten floor from_unixtime gcd get_field greatest ifnull
    initcap instr is_valid isnan iszero json_array_contains json_array_length json_exists
    json_extract json_get json_get_bool json_get_float json_get_int json_get_string lcm least left
    length levenshtein list_append list_concat list_contains list_distinct list_element list_except
    list_has list_has_all list_has_any list_intersect list_join list_length list_max list_min
    list_pop_back list_pop_front list_position list_positions list_prepend list_remove
    list_remove_all list_remove_n list_replace list_replace_all list_replace_n list_reverse
    list_slice list_sort list_to_string list_union ln log log10 log2 lower lpad ltrim make_date md5
    mod nanvl now nvl nvl2 octet_length overlay pi position pow power radians regexp_count
    regexp_instr regexp_match regexp_replace repeat replace reverse right round rpad rtrim sha224
    sha256 sha384 sha512 sign signum sin sinh split_part sqrt starts_with string_to_array
    string_to_list strpos substr substr_index substring substring_index tan tanh to_char to_date
    to_hex to_timestamp to_timestamp_micros to_timestamp_millis to_timestamp_nanos
    to_timestamp_seconds to_unixtime today translate trim trunc upper
"""
"""Names and aliases of the functions of `lance_core_functions`; `scripts.sql_page` writes them."""

KNOWN_PLUGINS = (
    KnownPlugin(
        "arrays",
        tools=(
            *("BFloat16", "BFloat16Array", "BFloat16Type", "BlobDescriptor"),
            *("BlobDescriptorArrayBuilder", "DedicatedBlobWriter", "EncodedImageArray"),
            *("EncodedImageScalar", "EncodedImageType", "FixedShapeImageTensorArray"),
            *("FixedShapeImageTensorScalar", "FixedShapeImageTensorType", "FixedSizeListMixin"),
            *("ImageArray", "ImageScalar", "ImageURIArray", "ImageURIScalar", "ImageURIType"),
            *("MultiVector", "PackedBlobWriter", "PandasBFloat16Array", "Vector"),
            *("bfloat16_array", "cast", "from_pydantic_model", "get_extras", "is_nullable"),
            "pydantic_to_schema",
        ),
    ),
    KnownPlugin("azure", ("az", "azure", "abfs", "abfss", "adl", "wasb", "wasbs")),
    KnownPlugin(
        "cli",
        commands=(
            *("cleanup", "compact", "completion", "copy", "count", "diff", "export", "files"),
            *("head", "import", "index", "indices", "inspect", "repair", "restore", "schema"),
            *("sql", "stats", "verify", "versions"),
        ),
        tools=("notebook_html",),
    ),
    KnownPlugin(
        "compaction", tools=("Compaction", "CompactionPlan", "CompactionTask", "RewriteResult")
    ),
    KnownPlugin("dynamodb", handlers=("ddb", "dynamodb")),
    KnownPlugin(
        "fsspec",
        (
            *("cos", "cosn", "dbfs", "ftp", "github", "hdfs", "hf", "http", "https", "obs"),
            *("oss", "sftp", "smb", "ssh", "tos", "webhdfs"),
        ),
    ),
    KnownPlugin("functions", functions=tuple(_SQL_FUNCTIONS.split())),
    KnownPlugin("gcs", ("gs", "gcs")),
    KnownPlugin(
        "indices",
        index_types=("bitmap", "bloomfilter", "btree", "json", "labellist", "ngram", "zonemap"),
    ),
    KnownPlugin("kernels"),
    KnownPlugin("legacy", file_versions=("0.1",)),
    KnownPlugin("lease", handlers=("lease",)),
    KnownPlugin(
        "namespace",
        tools=(
            *("DirectoryNamespace", "DynamicContextProvider", "RestAdapter", "RestNamespace"),
            *("TableOperations", "connect", "table_provider"),
        ),
        namespaces=("dir", "rest"),
    ),
    KnownPlugin("otel", tools=("new_observer",)),
    KnownPlugin("s3", ("s3", "s3a", "s3n")),
    KnownPlugin("spark"),
    KnownPlugin("sql", handlers=("sql",)),
    KnownPlugin(
        "text",
        index_types=("fts", "inverted", "text"),
        functions=("contains_tokens",),
        searches=("full_text_query",),
        analyzers=("ngram", "raw", "simple", "whitespace"),
        tools=(
            *("BooleanQuery", "BoostQuery", "CombinedFieldsQuery", "DocumentGranularity"),
            *("FullTextOperator", "FullTextQuery", "FullTextQueryType", "MatchQuery"),
            *("MultiMatchQuery", "Occur", "PhraseQuery", "hybrid"),
            *("Explanation", "FtsToken", "explain_score", "tokenize"),
        ),
    ),
    KnownPlugin(
        "torch",
        tools=(
            *("FragmentSampler", "FullScanSampler", "LanceDataset", "SafeLanceDataset"),
            *("Sampler", "ShardedBatchSampler", "ShardedFixedBatchSampler"),
            *("ShardedFragmentSampler", "TensorDataset", "get_safe_loader", "maybe_sample"),
            "reservoir_sampling",
        ),
    ),
    KnownPlugin(
        "vector",
        index_types=(
            *("vector", "ivfflat", "ivfpq", "ivfsq", "ivfrq"),
            *("ivfhnswflat", "ivfhnswpq", "ivfhnswsq"),
        ),
        searches=("nearest",),
        tools=(
            *("IndexFileVersion", "IndicesBuilder", "IvfModel", "PqModel"),
            *("KMeans", "validate_vector_index"),
        ),
    ),
)

SUFFIX_OF_PARAMETER = {
    "ddbtablename": "ddb",
    **dict.fromkeys(("sqlurl", "sqltable", "sqlpassword"), "sql"),
    **dict.fromkeys(
        ("leaseuri", "leaseduration", "leaserequestlifetime", "leasepatience"), "lease"
    ),
}
"""The URL suffix of the commit handler that takes a query parameter, by its plain name."""

EXTRA_OF_SCHEME = {scheme: known.extra for known in KNOWN_PLUGINS for scheme in known.schemes}
"""The extra that installs a store, by URL scheme."""

EXTRA_OF_HANDLER = {name: known.extra for known in KNOWN_PLUGINS for name in known.handlers}
"""The extra that installs a commit handler, by its name or URL suffix."""

EXTRA_OF_FILE_VERSION = {
    name: known.extra for known in KNOWN_PLUGINS for name in known.file_versions
}
"""The extra that installs what reads and writes a file version, by its name."""

EXTRA_OF_INDEX_TYPE = {name: known.extra for known in KNOWN_PLUGINS for name in known.index_types}
"""The extra that installs an index type, by its name in lower case without underscores."""

EXTRA_OF_FUNCTION = {name: known.extra for known in KNOWN_PLUGINS for name in known.functions}
"""The extra that installs an SQL function, by its name or alias in lower case."""

EXTRA_OF_SEARCH = {name: known.extra for known in KNOWN_PLUGINS for name in known.searches}
"""The extra that installs a search, by the argument of scans that asks for it."""

EXTRA_OF_ANALYZER = {name: known.extra for known in KNOWN_PLUGINS for name in known.analyzers}
"""The extra that installs an analyzer of texts, by its name."""

EXTRA_OF_COMMAND = {name: known.extra for known in KNOWN_PLUGINS for name in known.commands}
"""The extra that installs a command of ``lance-core``, by its name."""

EXTRA_OF_TOOL = {name: known.extra for known in KNOWN_PLUGINS for name in known.tools}
"""The extra that installs what users import from a module of the core, by its name."""


EXTRA_OF_NAMESPACE = {name: known.extra for known in KNOWN_PLUGINS for name in known.namespaces}
"""The extra that installs a namespace, by its name."""


def extra_of_details(key: str | None) -> str | None:
    """The extra that installs the index type whose details have the `details_key` ``key``."""
    return None if key is None else EXTRA_OF_INDEX_TYPE.get(key.removesuffix("indexdetails"))
