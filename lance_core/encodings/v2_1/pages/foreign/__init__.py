"""Pages whose values have an encoding of a plugin (message ``ForeignValues``)."""
