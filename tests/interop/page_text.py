"""What a page says of its encodings, as a short text."""

from __future__ import annotations

from typing import Any

from tests.interop.stored_pages import StoredPage

_SCHEMES = {1: "lz4", 2: "zstd"}


def page_text(page: StoredPage) -> str:
    """The layout of a page and its encodings; of chunks also the number, unless it is by chance."""
    layout = page.layout
    names = ("value_compression", "dictionary", "rep_compression", "def_compression")
    known = [name for name in names if name in layout.DESCRIPTOR.fields_by_name]
    found = [f"{name}={chain(getattr(layout, name))}" for name in known if layout.HasField(name)]
    parts = [type(layout).__name__, *found]
    if parts[0] == "MiniBlockLayout":
        parts.append(f"items={layout.num_dictionary_items}")
        if "fsst" not in parts[1]:
            parts.append(f"chunks={len(page.buffers[0]) // (4 if layout.has_large_chunk else 2)}")
    return " ".join(parts)


def chain(message: Any) -> str:
    """An encoding and those within it."""
    key = message.WhichOneof("compression")
    inner = getattr(message, key)
    if key == "flat":
        return f"flat:{inner.bits_per_value}"
    if key == "variable":
        return f"variable:{inner.offsets.flat.bits_per_value}"
    if key == "inline_bitpacking":
        return f"inline:{inner.uncompressed_bits_per_value}"
    if key == "out_of_line_bitpacking":
        return f"block:{inner.uncompressed_bits_per_value}({chain(inner.values)})"
    if key == "variable_packed_struct":
        return f"struct({', '.join(map(_child, inner.fields))})"
    if key == "general":
        level = f":{inner.compression.level}" if inner.compression.HasField("level") else ""
        return f"{_SCHEMES[inner.compression.scheme]}{level}({chain(inner.values)})"
    names = {
        "fixed_size_list": lambda: f"list:{inner.items_per_value}:{inner.has_validity}",
        "packed_struct": lambda: f"struct:{list(inner.bits_per_value)}",
    }
    if key == "constant":
        return key
    return f"{names.get(key, lambda: key)()}({chain(inner.values)})"


def _child(field: Any) -> str:
    return f"{chain(field.value)}/{field.bits_per_value or field.bits_per_length}"
