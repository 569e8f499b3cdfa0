"""What aggregates are made of: functions, partial results, tasks, and answers of indices."""
