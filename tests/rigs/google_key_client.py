"""Google's own client, in TLS and with an API key: `API_KEY=KEY python google_key_client.py HOST:PORT AUDIO`.

As google_client.py, in a process of its own; prints the transcript, or the name of the exception and its message.
"""

import os
import sys
from pathlib import Path

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import speech_v2

address, audio = sys.argv[1:]
client = speech_v2.SpeechClient(client_options={"api_endpoint": address, "api_key": os.environ["API_KEY"]})
config = speech_v2.RecognitionConfig(
    explicit_decoding_config=speech_v2.ExplicitDecodingConfig(
        encoding="LINEAR16", sample_rate_hertz=8000, audio_channel_count=1
    ),
    language_codes=["en-US"],
    model="babble",
)
try:
    response = client.recognize(
        recognizer="projects/p/locations/l/recognizers/_", config=config, content=Path(audio).read_bytes()
    )
    print(response.results[0].alternatives[0].transcript)
except GoogleAPICallError as error:
    print(f"{type(error).__name__}: {error.message}")
