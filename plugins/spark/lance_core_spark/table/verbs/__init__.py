"""The verbs of `LanceTable`, a class for each kind of work."""
