"""`plan_repair` says what can be done about damage, and `RepairPlan.apply` does it."""
