"""Benchmarks of tables in cloud emulators against pylance: ``python -m benchmarks.cloud``."""
