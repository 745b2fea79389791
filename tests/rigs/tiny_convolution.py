"""Small convolutions, over frequency and over time and frequency, for vectors of one frame of six bins."""

SECTION = {"frames": 1, "filters": 5, "width_bins": 2, "pool_bins": 2, "pooled_width_bins": 1, "size": 7}

LAYERS = [
    {"filters": 5, "width_frames": 1, "width_bins": 2, "pool_bins": 2},
    {"filters": 4, "width_frames": 1, "width_bins": 2, "pool_bins": 1},
]
SECTION_2D = {"frames": 1, "layers": LAYERS, "size": 7}
