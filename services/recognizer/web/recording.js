// A recording to the recognizer: the file as it is; as the browser decodes it, where the recognizer does not know its
// format, or where a stream begins in its midst.

import { ContinuedStream } from "./continued_stream.js";
import { PageError } from "./errors.js";

const SLICE_BYTES = 1 << 16;
const DECODED_HZ = 16000;
const SAMPLE_BYTES = 2;

export class Recording {
  // onReady(message), onResult(result), onWaiting(error, pauseMs): as of ContinuedStream. onProgress(share of the file
  // that is sent).
  constructor(config, file, { onReady, onResult, onProgress, onWaiting }) {
    this.file = file;
    this.decoded = null; // Blob of 16-bit samples at DECODED_HZ
    this.heard = false; // a result
    this.onProgress = onProgress;
    this.stopped = false;
    const hear = (result) => {
      this.heard = true;
      onResult(result);
    };
    this.streams = new ContinuedStream(config, this, {
      mostFullMs: Infinity,
      keepsTrying: false,
      onReady,
      onResult: hear,
      onWaiting,
    });
  }

  // Send the file, and wait for all results; returns the seconds of audio, throws PageError.
  async run() {
    try {
      return await this.streams.run();
    } catch (error) {
      if (error.code !== "INVALID_ARGUMENT" || this.heard || this.stopped || this.decoded) throw error;
      this.decoded = await decoded(this.file);
      if (this.decoded === null) throw error;
      return await this.streams.run();
    }
  }

  // From its beginning a file is sent as it is.
  async from(placeS) {
    if (placeS === 0 && !this.decoded) {
      return { format: { encoding: "AUTO" }, send: (stream) => this.send(stream, this.file, 0) };
    }
    this.decoded ??= await decoded(this.file);
    if (this.decoded === null) {
      const advice = "It cannot go on within it. Choose the recording in another format, such as WAV, or in parts.";
      throw new PageError("The browser cannot decode this file", advice);
    }
    const begin = SAMPLE_BYTES * Math.round(placeS * DECODED_HZ);
    return { format: { sample_rate: DECODED_HZ }, send: (stream) => this.send(stream, this.decoded, begin) };
  }

  // As fast as the socket drains, until it ends.
  async send(stream, blob, begin) {
    for (let at = begin; at < blob.size && !this.stopped && (await stream.drained()); at += SLICE_BYTES) {
      stream.send(await blob.slice(at, at + SLICE_BYTES).arrayBuffer());
      this.onProgress(Math.min(1, (at + SLICE_BYTES) / blob.size));
    }
  }

  // End after what has been sent; at once where it waits.
  stop() {
    this.stopped = true;
    this.streams.stop();
  }
}

// Blob of the file's audio, 16-bit samples, mono, at DECODED_HZ; null: the browser cannot decode it either.
async function decoded(file) {
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, DECODED_HZ).decodeAudioData(await file.arrayBuffer());
  } catch {
    return null;
  }
  const channels = Array.from({ length: audio.numberOfChannels }, (_, channel) => audio.getChannelData(channel));
  const samples = Int16Array.from({ length: audio.length }, (_, at) => {
    const sample = channels.reduce((sum, channel) => sum + channel[at], 0) / channels.length;
    return Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
  });
  return new Blob([samples]);
}
