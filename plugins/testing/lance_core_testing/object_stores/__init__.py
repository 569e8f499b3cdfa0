"""The contract of object stores: the suite, and its parts by kind of call."""
