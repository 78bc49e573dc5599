"""Files read with Arrow instead of Spark, where both give the same rows: no row becomes an object of the JVM."""
