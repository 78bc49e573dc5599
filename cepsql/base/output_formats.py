"""The forms in which rows are written."""

FORMATS = ("table", "vertical", "csv", "json", "markdown")
