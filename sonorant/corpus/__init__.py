"""From recordings to shards: corpus readers, splits, digit strings, TFRecord files with random access."""
