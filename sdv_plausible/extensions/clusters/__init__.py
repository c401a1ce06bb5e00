"""Tables on clusters: Dask and Spark DataFrames."""
