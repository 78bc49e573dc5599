"""What Spark reports when something fails, in the words of a statement."""
