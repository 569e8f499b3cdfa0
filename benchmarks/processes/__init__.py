"""What the groups share that run each library in a process of its own."""
