"""Arrow types that this library adds: bfloat16, and casts of it."""

from lance_core.schema.bfloat16 import BFloat16, BFloat16Array, BFloat16Type, bfloat16_array, cast

__all__ = ["BFloat16", "BFloat16Array", "BFloat16Type", "bfloat16_array", "cast"]
