"""What a standing query warns of about its sources."""
