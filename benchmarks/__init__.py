"""Benchmarks against pylance, Parquet and Vortex in one run: ``python -m benchmarks``."""
