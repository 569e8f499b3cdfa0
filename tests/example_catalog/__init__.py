"""An example of a namespace of another author, for documentation and tests."""
