"""Features: one front end of training and recognition.

A `FeatureExtractor` (`front_end`) maps a waveform, Float32[samples], to Float32[vectors, bins]; its `stream` gives the
same bits from chunks of any size. `mel` has filters and DCT, `section` the recipe's section.
"""
