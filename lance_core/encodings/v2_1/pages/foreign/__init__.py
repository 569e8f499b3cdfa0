"""Pages whose values are in an encoding of a plugin (message ``ForeignValues``)."""
