"""Makes queries do what is desired of them: starts, restarts, leases."""
