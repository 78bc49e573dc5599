"""What `cepsql NAME ...` does in place of executing statements."""
