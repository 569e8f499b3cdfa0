"""Inner loops, in C where the library is compiled, and in numpy."""
