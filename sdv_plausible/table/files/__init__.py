"""Table files: CSV and Parquet, parsed cell by cell as declared, and written."""
