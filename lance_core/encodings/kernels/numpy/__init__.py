"""The default kernels, implemented with numpy and Arrow."""
