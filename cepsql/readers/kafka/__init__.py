"""Kafka without Spark: what options say, which records a micro-batch takes, and reading them with confluent-kafka."""
