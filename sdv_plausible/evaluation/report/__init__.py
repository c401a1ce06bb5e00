"""The evaluation report, on SDMetrics."""
