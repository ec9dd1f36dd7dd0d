"""What runs in the sandbox's own processes: on the standard library alone."""
