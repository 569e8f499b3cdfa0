"""Tables in containers of Azure Blob Storage: ``az://container/path`` and ``abfss://…``."""
