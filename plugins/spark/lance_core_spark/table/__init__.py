"""Maintenance of tables: the driver plans and commits, tasks of Spark do the work."""
