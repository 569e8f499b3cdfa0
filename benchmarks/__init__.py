"""Benchmarks against pylance and Parquet in one run: ``python -m benchmarks``."""
