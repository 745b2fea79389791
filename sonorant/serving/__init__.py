"""The recognizer without transport or threads: sessions, model versions, admission, errors by kind.

A `Session` is pushed one stream's audio, in chunks of any size, and returns `Result`s: the same transcripts however the
audio is cut. An endpointer says which audio is speech and where an utterance ends; each `Utterance` has a search and a
final result of its own. It drives a `ServedModel` (`model`) by way of `Posteriors`, which may average over several
views of the audio; what it computes is `Steps`, which many sessions may run together. `ModelStore` has the versions of
each model that are in service, which `ModelChoice` names; `check_warm_up` is what they pass before. `Admission` bounds
the number of streams. `check_request` checks a client's `StreamRequest`, `audio_formats` decodes its audio; `errors`
has a canonical code for each refusal, which a transport maps to its own.
"""
