"""Conversion of types and values between Arrow and Spark."""
