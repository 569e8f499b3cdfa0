"""The scalar index types of the format, one module or package each."""
