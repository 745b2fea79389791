"""The recognizer without transport or threads: sessions, model versions, admission, errors by kind.

A `Session` is pushed one stream's audio, in chunks of any size, and returns `Result`s: the same transcripts however
the audio is cut. `Utterances` says which audio is speech and where an utterance ends; each `Utterance` has a search and
a final result of its own. It drives a `ServedModel` (`model`) by way of `Posteriors`, which may average over several
views of the audio; what it computes is `Steps`, which many sessions may run together. `ModelStore` has the newest valid
version of each model. `Admission` bounds the number of streams. `check_request` checks a client's `StreamRequest`
against a model; `errors` has a canonical code for each refusal, which a transport maps to its own.
"""
