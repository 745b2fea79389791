"""The signature `transcribe` of an exported CTC model: recordings to texts in one graph, for TensorFlow alone.

`obstacle.py` says which exports have it; `signature.py` puts it together: front end (`front_end.py`), the model's own
signature (`posteriors.py`), beam search (`beam_search.py`), and text (`spelling.py`). Each is the counterpart, in
TensorFlow's operations, of what recognizes elsewhere: `sonorant.features.front_end`, `sonorant.export.loading`,
`sonorant.decoding.ctc_beam`, and `sonorant.text.units`.
"""
