"""Tables in Spark's catalog: their registration, and SQL that changes them."""
