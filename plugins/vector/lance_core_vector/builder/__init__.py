"""Tools for users who build vector indices step by step, with the names of pylance."""
