"""Inner loops: each has a form in C, which is used if it was compiled, and a twin in numpy."""
