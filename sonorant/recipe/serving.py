"""Recipe: the recognizer."""

from pydantic import Field

from sonorant.section import Section

__all__ = ["ServingRecipe"]


class ServingRecipe(Section):
    """The gRPC recognizer."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(0, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    max_streams: int = Field(64, ge=1, description="Streams at once; one more is answered with RESOURCE_EXHAUSTED.")
    max_stream_seconds: float = Field(300.0, gt=0, description="Longest audio of a stream or request, in seconds.")
    idle_timeout_s: float = Field(30.0, gt=0, description="A stream without audio for this long is ended, in seconds.")
    max_message_mb: float = Field(16.0, gt=0, description="Largest gRPC message, in megabytes.")
    recordings: str = Field(
        "", description="Folder of recordings that BatchRecognize may read, by file: URIs; empty: it is not served."
    )
