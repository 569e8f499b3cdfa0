"""The built-in types of scalar indices, one module or package each."""
