"""The contract of commit handlers: the suite, and its parts by kind of fault."""
