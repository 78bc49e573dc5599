"""Patterns whose conditions need the match so far, found by a search that remembers failures."""
