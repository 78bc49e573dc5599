"""Streaming SQL and complex event processing for Apache Spark."""
