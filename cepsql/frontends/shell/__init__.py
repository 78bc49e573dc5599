"""The interactive prompt: a thin front over cepsql.frontends.runner."""
