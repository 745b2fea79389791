"""Google's own client of Speech-to-Text v2, in a process of its own: `python google_client.py HOST:PORT AUDIO`.

One process cannot load its messages and ours, which have the same names. Writes what it gets as JSON.
"""

import base64
import json
import sys
from importlib import resources
from pathlib import Path

import grpc
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import speech_v2
from google.cloud.speech_v2.services.speech.transports import SpeechGrpcTransport

PARENT = "projects/p/locations/l"
WORDS = speech_v2.RecognitionFeatures(enable_word_time_offsets=True, enable_word_confidence=True, max_alternatives=3)
CONFIG = speech_v2.RecognitionConfig(
    explicit_decoding_config=speech_v2.ExplicitDecodingConfig(
        encoding="LINEAR16", sample_rate_hertz=8000, audio_channel_count=1
    ),
    language_codes=["en-US"],
    model="babble",
    features=WORDS,
)


def _words(alternative):
    return [
        [word.word, word.start_offset.total_seconds(), word.end_offset.total_seconds()] for word in alternative.words
    ]


def _streamed(client, audio):
    wanted = speech_v2.StreamingRecognitionFeatures(interim_results=True)
    opened = speech_v2.StreamingRecognitionConfig(config=CONFIG, streaming_features=wanted)
    requests = [speech_v2.StreamingRecognizeRequest(recognizer=f"{PARENT}/recognizers/_", streaming_config=opened)]
    requests += [speech_v2.StreamingRecognizeRequest(audio=audio[at : at + 3200]) for at in range(0, len(audio), 3200)]
    results = [one for response in client.streaming_recognize(requests=iter(requests)) for one in response.results]
    return [
        [
            one.is_final,
            one.alternatives[0].transcript,
            one.result_end_offset.total_seconds(),
            _words(one.alternatives[0]),
        ]
        for one in results
    ]


def _apart(client, audio):
    """A recording of two channels, the second one silent."""
    config = speech_v2.RecognitionConfig(CONFIG)
    config.explicit_decoding_config.audio_channel_count = 2
    config.features.multi_channel_mode = "SEPARATE_RECOGNITION_PER_CHANNEL"
    content = b"".join(audio[at : at + 2] + bytes(2) for at in range(0, len(audio), 2))
    whole = client.recognize(recognizer=f"{PARENT}/recognizers/_", config=config, content=content)
    return {
        "results": [[one.channel_tag, one.alternatives[0].transcript] for one in whole.results],
        "billed_s": whole.metadata.total_billed_duration.total_seconds(),
    }


def _timed_out(client, audio):
    """Speech, and a minute of silence, which nobody waits for."""
    wanted = speech_v2.StreamingRecognitionFeatures(
        enable_voice_activity_events=True,
        voice_activity_timeout={"speech_start_timeout": {"seconds": 5}, "speech_end_timeout": {"seconds": 1}},
        endpointing_sensitivity="ENDPOINTING_SENSITIVITY_SHORT",
    )
    opened = speech_v2.StreamingRecognitionConfig(config=CONFIG, streaming_features=wanted)
    requests = [speech_v2.StreamingRecognizeRequest(recognizer=f"{PARENT}/recognizers/_", streaming_config=opened)]
    content = [audio, *([bytes(16_000)] * 60)]
    requests += [speech_v2.StreamingRecognizeRequest(audio=part) for part in content]
    responses = list(client.streaming_recognize(requests=iter(requests)))
    return {
        "events": [one.speech_event_type.name for one in responses if one.speech_event_type],
        "results": [
            [one.alternatives[0].transcript, one.result_end_offset.total_seconds()]
            for response in responses
            for one in response.results
        ],
    }


def _refused(client, audio):
    config = speech_v2.RecognitionConfig(CONFIG)
    config.translation_config = speech_v2.TranslationConfig(target_language="fr-FR")
    found = []
    for call in (
        lambda: client.recognize(recognizer=f"{PARENT}/recognizers/_", config=config, content=audio),
        lambda: client.get_recognizer(name=f"{PARENT}/recognizers/bubble"),
        lambda: client.batch_recognize(_batch("gs://bucket/file")),
        lambda: client.create_recognizer(parent=PARENT, recognizer={}),
    ):
        try:
            call()
        except GoogleAPICallError as error:
            found.append([type(error).__name__, error.message])
    return found


def _batch(*uris):
    return speech_v2.BatchRecognizeRequest(
        recognizer=f"{PARENT}/recognizers/_",
        config=CONFIG,
        files=[speech_v2.BatchRecognizeFileMetadata(uri=uri) for uri in uris],
        recognition_output_config=speech_v2.RecognitionOutputConfig(inline_response_config={}),
    )


def _in_files(client, path):
    good, bad = f"file://{path}", f"file://{path}-not"
    operation = client.batch_recognize(_batch(good, bad))
    response = operation.result(timeout=60)
    transcript = response.results[good].inline_result.transcript
    return {
        "transcripts": [one.transcript for one in transcript.results[0].alternatives],
        "error": [response.results[bad].error.code, response.results[bad].error.message],
        "billed_s": response.total_billed_duration.total_seconds(),
        "progress": operation.metadata.progress_percent,
        "files": len(operation.metadata.batch_recognize_metadata.transcription_metadata),
    }


def main(address, path):
    audio = Path(path).read_bytes()
    client = speech_v2.SpeechClient(transport=SpeechGrpcTransport(channel=grpc.insecure_channel(address)))
    whole = client.recognize(recognizer=f"{PARENT}/recognizers/babble", config=CONFIG, content=audio)
    messages = speech_v2.RecognizeRequest.pb(speech_v2.RecognizeRequest()).DESCRIPTOR.file
    methods = json.loads(resources.files(speech_v2).joinpath("gapic_metadata.json").read_text())
    print(
        json.dumps(
            {
                "recognizers": [one.name for one in client.list_recognizers(parent=PARENT)],
                "rate_hz": client.get_recognizer(
                    name=f"{PARENT}/recognizers/babble"
                ).default_recognition_config.explicit_decoding_config.sample_rate_hertz,
                "whole": [one.transcript for one in whole.results[0].alternatives],
                "words": _words(whole.results[0].alternatives[0]),
                "billed_s": whole.metadata.total_billed_duration.total_seconds(),
                "language": whole.results[0].language_code,
                "streamed": _streamed(client, audio),
                "apart": _apart(client, audio),
                "timed_out": _timed_out(client, audio),
                "in_files": _in_files(client, path),
                "refused": _refused(client, audio),
                "methods": sorted(methods["services"]["Speech"]["clients"]["grpc"]["rpcs"]),
                "messages": base64.b64encode(messages.serialized_pb).decode(),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
