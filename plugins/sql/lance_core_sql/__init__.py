"""External manifest store in a SQL database: ``scheme+sql://…``."""
