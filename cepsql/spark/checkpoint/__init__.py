"""What a standing query keeps to go on after a restart, and who may write there."""
