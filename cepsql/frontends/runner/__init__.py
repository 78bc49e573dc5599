"""Execute statements and print what they give: what -c, -f, standard input and the shell have in common."""
