"""The report as one self-contained HTML page: what it shows, its charts, its templates."""
