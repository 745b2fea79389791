"""Recipe: the recognizer."""

from pydantic import Field

from sonorant.section import Section

__all__ = ["ServingRecipe"]


class ServingRecipe(Section):
    """The recognizer: gRPC, HTTP and WebSocket."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(0, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    http_port: int = Field(0, ge=0, le=65535, description="Port of HTTP and WebSocket; 0: not served.")
    max_streams: int = Field(
        1000, ge=1, description="Streams at once, whatever the load; one more is answered with RESOURCE_EXHAUSTED."
    )
    slo_ms: float = Field(
        300.0,
        gt=0,
        description="Service level objective in milliseconds, of 95 % of results, interim and final. A stream that "
        "would delay those of others beyond it is answered with RESOURCE_EXHAUSTED.",
    )
    max_stream_seconds: float = Field(300.0, gt=0, description="Longest audio of a stream or request, in seconds.")
    idle_timeout_s: float = Field(30.0, gt=0, description="A stream without audio for this long is ended, in seconds.")
    max_message_mb: float = Field(
        16.0, gt=0, lt=2048, description="Largest message or upload, in megabytes; gRPC counts its bytes in 32 bits."
    )
    recordings: str = Field(
        "", description="Folder of recordings that BatchRecognize may read, by file: URIs; empty: it is not served."
    )
    api_keys: str = Field(
        "",
        description="File with the hashes and limits of API keys, of which clients must send one, as `sonorant key` "
        "writes it; empty: none is asked for.",
    )
