"""What helps where a file of the input is not whole."""

WHOLE_FILE = "put a whole file in its place and start again; move files into the folder when they are written"
