"""What benchmarks measure on: processes and their ends."""
