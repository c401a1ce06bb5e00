"""The evaluation report, built on SDMetrics."""
