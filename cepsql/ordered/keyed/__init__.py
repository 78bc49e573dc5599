"""What operators remember by key: rows found by hashes of keys, in levels, of which large ones are files."""
