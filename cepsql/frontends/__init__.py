"""How people and clients reach an engine: the shell, the command line, servers, notebooks and the demo."""
