"""Removing what no version that stays needs."""
