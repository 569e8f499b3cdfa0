"""The former place of `lance_core_testing` (extra ``testing``), whose names it has until 0.2."""

from lance_core.imports.forwarding import forward

__path__: list[str] = []
_RENAMED = {
    "commit_handler": "lance_core_testing.commit_handlers.suite",
    "commit_handler_etags": "lance_core_testing.commit_handlers.etags",
    "commit_handler_faults": "lance_core_testing.commit_handlers.faults",
    "commit_handler_outages": "lance_core_testing.commit_handlers.outages",
    "commit_handler_races": "lance_core_testing.commit_handlers.races",
    "commit_handler_versions": "lance_core_testing.commit_handlers.versions",
    "encoding": "lance_core_testing.encodings.suite",
    "external_manifest_store": "lance_core_testing.manifest_stores.suite",
    "external_manifest_store_faults": "lance_core_testing.manifest_stores.faults",
    "external_manifest_store_races": "lance_core_testing.manifest_stores.races",
    "memory_manifest_store": "lance_core_testing.manifest_stores.memory_manifest_store",
    "object_store": "lance_core_testing.object_stores.suite",
    "object_store_exclusive": "lance_core_testing.object_stores.exclusive",
    "object_store_forks": "lance_core_testing.object_stores.forks",
    "object_store_instances": "lance_core_testing.object_stores.instances",
    "object_store_listing": "lance_core_testing.object_stores.listing",
    "object_store_paths": "lance_core_testing.object_stores.paths",
    "object_store_reads": "lance_core_testing.object_stores.reads",
    "object_store_writes": "lance_core_testing.object_stores.writes",
    "stored_array": "lance_core_testing.encodings.stored_array",
    "stored_field": "lance_core_testing.encodings.stored_field",
    "value_encoding": "lance_core_testing.encodings.value_encoding",
    "value_samples": "lance_core_testing.encodings.value_samples",
}
__getattr__ = forward(__name__, "lance_core_testing", extra="testing", renamed=_RENAMED)
