"""The rows of materialized views: read from their stores at one moment, and questions answered from them."""
