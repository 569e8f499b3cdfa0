"""Side by side with pylance and Parquet, in one run: ``python -m benchmarks``."""
