"""Tables in emulators of clouds, beside pylance, in one run: ``python -m benchmarks.cloud``."""
