"""A recognizer as one writes it around onnxruntime: a program for a Python that has it, and nothing of sonorant.

`python onnx_recognizer.py FOLDER PORT_FILE single|batched`: the folder has arrays.npz, model.json and messages.pb, the
descriptors of the service's messages. grpc.aio, a front end in numpy, a greedy search; a model call for each chunk of a
stream (single), or one for all that is due when the last has ended, up to 32 (batched). It serves StreamingRecognize of
`sonorant.v1` in as far as the load tool needs it: no endpointing, no limits.
"""

import asyncio
import json
import sys
from collections import deque
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import onnxruntime
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from numpy.lib.stride_tricks import sliding_window_view
from onnx_graph import write_graph

_MOST = 32
_TOLERANCE = 0.01  # of probabilities


class Model:
    """The ONNX model, the front end's constants and the units."""

    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "model.json").read_text())
        with np.load(folder / "arrays.npz") as arrays:
            self.arrays = dict(arrays)
        write_graph(
            self.arrays, self.facts["layers"], self.facts["running"], self.facts["decay"], str(folder / "model.onnx")
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
        self.start = [self.arrays[f"state_{i}"] for i in range(self.facts["states"])]
        self.names = ["log_probs", *(f"next_{i}" for i in range(len(self.start)))]

    def run(self, features: Any, states: Any) -> Any:
        """Return log-probabilities [B, T, symbols] and states [B, ...] after features [B, T, bins]."""
        inputs = {f"state_{i}": state for i, state in enumerate(states)}
        log_probs, *after = self.session.run(self.names, {"features": features, **inputs})
        return log_probs, after


def check(model: Model) -> None:
    """Raise SystemExit unless the log-probabilities of a recording are those of the model as TensorFlow runs it."""
    audio, expected = model.arrays["check_audio"], model.arrays["check_log_probs"]
    stream, found = Stream(model), []
    for at in range(0, len(audio), 800):
        vectors = stream.vectors(audio[at : at + 800].tobytes())
        if len(vectors):
            log_probs, stream.state = model.run(vectors[None], stream.state)
            found.append(log_probs[0])
    error = float(np.abs(np.exp(np.concatenate(found)) - np.exp(expected)).max())
    if not error < _TOLERANCE:
        raise SystemExit(f"not the same model: probabilities differ by {error:.3g}")


class Stream:
    """A stream's front end, state and greedy search."""

    def __init__(self, model: Model) -> None:
        self.model, self.state = model, model.start
        self.samples = np.empty(0, np.float32)
        self.frames = np.empty((0, model.facts["frame_bins"]), np.float32)
        self.words: list[str] = []
        self.last = -1

    def vectors(self, audio: bytes) -> Any:
        """Return Float32[vectors, bins] that 16-bit samples complete: power-mel."""
        facts, arrays = self.model.facts, self.model.arrays
        hop, window, stack, stride = facts["hop"], len(arrays["hann"]), facts["stack"], facts["stride"]
        new = np.frombuffer(audio, "<i2").astype(np.float32) * np.float32(1 / 32768)
        self.samples = np.concatenate([self.samples, new])
        if len(self.samples) >= window:
            cut = sliding_window_view(self.samples, window)[::hop] * arrays["hann"]
            spectra = np.fft.rfft(cut, facts["fft_size"])
            power = (spectra.real**2 + spectra.imag**2).astype(np.float32)
            self.frames = np.concatenate([self.frames, (power @ arrays["filters"]) ** np.float32(facts["power"])])
            self.samples = self.samples[len(cut) * hop :]
        if len(self.frames) < stack:
            return np.empty((0, stack * facts["frame_bins"]), np.float32)
        stacks = sliding_window_view(self.frames, stack, axis=0)[::stride]
        self.frames = self.frames[len(stacks) * stride :]
        return stacks.swapaxes(1, 2).reshape(len(stacks), -1)

    def search(self, log_probs: Any) -> bool:
        """Read log-probabilities [T, symbols]; return whether there are new words."""
        before = len(self.words)
        for symbol in log_probs.argmax(axis=1).tolist():
            if symbol != self.last and symbol < len(self.model.facts["units"]):
                self.words.append(self.model.facts["units"][symbol])
            self.last = symbol
        return len(self.words) > before


class Single:
    """A call of the model for each chunk."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def step(self, stream: Stream, vectors: Any) -> Any:
        """Return log-probabilities [T, symbols] of vectors [T, bins]."""
        log_probs, stream.state = self.model.run(vectors[None], stream.state)
        return log_probs[0]


class Batched:
    """A call for all that is due, of equally many vectors, when the last call has ended."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.due: deque[Any] = deque()
        self.going = False

    async def step(self, stream: Stream, vectors: Any) -> Any:
        """As `Single.step`."""
        future = asyncio.get_running_loop().create_future()
        self.due.append((stream, vectors, future))
        if not self.going:
            self.going = True
            asyncio.get_running_loop().call_soon(self.work)
        return await future

    def work(self) -> None:
        """Run what is due, and again when other events have had their turn."""
        some = [self.due.popleft() for _ in range(min(_MOST, len(self.due)))]
        for count in {len(vectors) for _, vectors, _ in some}:
            alike = [each for each in some if len(each[1]) == count]
            states = [np.concatenate(own) for own in zip(*(stream.state for stream, _, _ in alike), strict=True)]
            log_probs, after = self.model.run(np.stack([vectors for _, vectors, _ in alike]), states)
            for row, (stream, _, future) in enumerate(alike):
                stream.state = [state[row : row + 1] for state in after]
                if not future.done():
                    future.set_result(log_probs[row])
        self.going = bool(self.due)
        if self.going:
            asyncio.get_running_loop().call_soon(self.work)


class Handler(grpc.GenericRpcHandler):
    """The method StreamingRecognize."""

    def __init__(self, model: Model, step: Any, messages: Any) -> None:
        self.model, self.step, self.messages = model, step, messages

    def service(self, details: Any) -> Any:
        """Return the handler of a method."""
        if details.method.endswith("/StreamingRecognize"):
            return grpc.stream_stream_rpc_method_handler(
                self.stream,
                self.messages["StreamingRecognizeRequest"].FromString,
                self.messages["StreamingRecognizeResponse"].SerializeToString,
            )
        return None

    async def stream(self, requests: Any, _context: Any) -> Any:
        """Recognize a stream: interim results when there are new words, a final one at the end."""
        stream, samples = Stream(self.model), 0
        async for request in requests:
            if not request.audio:
                continue
            samples += len(request.audio) // 2
            vectors = stream.vectors(request.audio)
            if len(vectors) and stream.search(await self.step(stream, vectors)):
                yield self.response(stream, samples, is_final=False)
        yield self.response(stream, samples, is_final=True)

    def response(self, stream: Stream, samples: int, *, is_final: bool) -> Any:
        """Return a result of the words so far."""
        response = self.messages["StreamingRecognizeResponse"]()
        response.results.add(is_final=is_final).alternatives.add(transcript=" ".join(stream.words))
        response.metadata.total_billed_duration.FromNanoseconds(samples * 10**9 // self.model.facts["rate_hz"])
        return response


def read_messages(path: Path) -> "dict[str, Any]":
    """Return the classes of the service's messages."""
    pool: Any = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
    for file in files.file:
        pool.Add(file)
    names = [f"{file.package}.{message.name}" for file in files.file for message in file.message_type]
    return {
        name.rpartition(".")[2]: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names
    }


async def serve(folder: Path, port_file: Path, mode: str) -> None:
    """Serve for ever."""
    model = Model(folder)
    check(model)
    step = (Batched if mode == "batched" else Single)(model).step
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Handler(model, step, read_messages(folder / "messages.pb"))])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    part = port_file.with_suffix(".part")
    part.write_text(str(port))
    part.rename(port_file)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
