"""A small convolution over frequency, for vectors of one frame of six bins."""

SECTION = {"frames": 1, "filters": 5, "width_bins": 2, "pool_bins": 2, "pooled_width_bins": 1, "size": 7}
