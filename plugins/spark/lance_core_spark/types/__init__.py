"""Types and values between Arrow and Spark."""
