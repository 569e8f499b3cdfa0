"""The descriptors of the functions, a module for each group of the reference page."""
