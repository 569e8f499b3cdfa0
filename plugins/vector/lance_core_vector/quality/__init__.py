"""What an index finds and what it costs: measured recall, the effort for a recall, advice."""
