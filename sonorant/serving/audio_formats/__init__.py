"""Audio formats: a client's bytes in, samples at the model's rate out, while they come.

`open_decoder` makes an `AudioDecoder` of an `AudioFormat`. Its `Reader` is one of a format a file: raw samples (`raw`),
or a container (`wav`, `flac`, `mp3`, `ogg`, `webm`), found from the first bytes for AUTO (`detection`). A reader yields
`Block`s, lazily, the same ones however the bytes are cut; the decoder mixes channels, resamples, and stops at a limit;
`Pieces` bound what is decoded at once. What cannot be decoded is a BadAudio, a format that is not taken a BadRequest.
"""

from sonorant.serving.audio_formats.audio_format import AudioFormat, check_format
from sonorant.serving.audio_formats.decoder import AudioDecoder, open_decoder
from sonorant.serving.audio_formats.pieces import Pieces

__all__ = ["AudioDecoder", "AudioFormat", "Pieces", "check_format", "open_decoder"]
