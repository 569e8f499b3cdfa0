"""How the vectors of an index are encoded, and how codes are compared with a query."""
