"""What every part may use, and knows nothing of SQL or streams: calendar, secrets, temporary and private files."""
