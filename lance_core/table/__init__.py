"""One version of a table as plain values: manifest, fragments, transactions. No I/O."""
