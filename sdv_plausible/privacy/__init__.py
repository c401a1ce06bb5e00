"""The isolated privacy core: it imports nothing of the rest of the package and nothing of SDV."""
