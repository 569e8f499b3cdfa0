"""Types and values: literals, coercion, casts, exact numbers, intervals."""
