"""Plain values for one version of a table: manifest, fragments, transactions. No I/O."""
