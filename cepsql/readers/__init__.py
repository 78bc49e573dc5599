"""Rows read without Spark: files by Arrow, records of Kafka, and rows that nobody wrote."""
