"""A module that programs written for pylance may import; it has no names there either."""
