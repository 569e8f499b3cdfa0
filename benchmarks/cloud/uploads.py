"""Memory of an upload: anonymous pages of a process that only uploads.

For S3 the proxy, a third process, discards the parts, so that no emulator has to store them; only
S3's protocol allows responses without state. For other services a shorter upload goes to the
emulator. Figures are the growth during the upload, after an upload of one megabyte that has
imported all modules.
"""

from __future__ import annotations

import json

from benchmarks.cloud.counting import CountingProxy
from benchmarks.cloud.libraries import MODULES
from benchmarks.cloud.places import Place
from benchmarks.memory import SAMPLER, run_program
from benchmarks.report import OURS, Report
from lance_core_testing.network.faults import Answer, Rule

MOST = 64
"""Maximum MB of memory for an upload."""

SWALLOWED = 1 << 30
STORED = 256 << 20

_PART = Answer(200, headers={"ETag": '"part"'})
_FINISHED = Answer(
    200,
    b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>",
    {"Content-Type": "application/xml"},
)
SINK = (
    Rule(_PART, "PUT", query="*partNumber=*"),
    Rule(_FINISHED, "POST", query="uploadId=*"),
)

_STORE = """
import json
from lance_core.plugins.store_cache import open_store
uri, options, library, size = json.loads(sys.argv[1])
store = open_store(uri.format("store"), options)
def upload(name, size):
    with store.open_writer(name) as writer:
        for _ in range(size >> 20):
            writer.write(bytes(1 << 20))
upload("small", 1 << 20)
with Peak() as peak:
    upload("large", size)
print(peak.megabytes)
"""

_TABLE = """
import importlib, json, os
import pyarrow as pa
uri, options, library, size = json.loads(sys.argv[1])
module = importlib.import_module(library)
def batches(size):
    for _ in range(size >> 20):
        yield pa.record_batch({"bytes": [os.urandom(1 << 16) for _ in range(16)]})
def upload(name, size):
    schema = pa.schema({"bytes": pa.binary()})
    reader = pa.RecordBatchReader.from_batches(schema, batches(size))
    module.write_dataset(reader, uri.format(name), storage_options=options)
upload("small", 1 << 20)
with Peak() as peak:
    upload("large", size)
print(peak.megabytes)
"""


def memory(report: Report, place: Place, proxy: CountingProxy, quick: bool) -> None:
    """Peak memory of an upload through the store, and of writing a table."""
    is_sink = place.name == "s3"
    size = SWALLOWED if is_sink else STORED
    if quick:
        size //= 4
    proxy.set_rules(SINK if is_sink else ())
    origin = proxy.url if is_sink else None
    where = "swallowed by a proxy" if is_sink else "to the emulator"
    for label, program, names in (
        ("upload", _STORE, (OURS,)),
        ("write a table", _TABLE, tuple(MODULES)),
    ):
        for name in names:
            kind = label.replace(" ", "-")
            uri = place.uri(f"{name}-{kind}-{{}}")
            told = uri, place.options(name == OURS, origin), MODULES[name].__name__, size
            peak = int(run_program(SAMPLER + program, json.dumps(told)))
            text = f"{place.name}: memory, {name}, {label} of {size >> 20} MB {where}"
            report.note(text, peak, "MB", MOST if label == "upload" else None)
