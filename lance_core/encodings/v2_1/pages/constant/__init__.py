"""Constant pages (message ``ConstantLayout``): all values are null or all are equal."""
