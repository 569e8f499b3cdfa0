"""A year of flights from New York: bronze, silver and gold tables, an upsert stream and a chart."""
