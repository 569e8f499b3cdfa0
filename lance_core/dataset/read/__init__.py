"""Reads: plans, scans in windows, and rows by position, address or id."""
