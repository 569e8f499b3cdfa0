"""Constant pages (message ``ConstantLayout``): nothing but nulls, or one value."""
