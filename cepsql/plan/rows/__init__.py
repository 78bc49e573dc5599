"""What gives rows for rows: DISTINCT, window functions, row patterns in windows, ORDER BY."""
