// A recording to the recognizer: the file as it is, or, where the recognizer does not know its format, as the browser decodes it.

import { RecognitionStream } from "./stream.js";

const SLICE_BYTES = 1 << 16;
const DECODED_HZ = 16000;

export class Recording {
  // onReady(message), onResult(result), onProgress(share of the file that is sent), onFull(error): it waits as it is told.
  constructor(config, file, { onReady, onResult, onProgress, onFull }) {
    this.config = config;
    this.file = file;
    this.heard = false; // a result
    this.onMessage = (told) => {
      if (told.type === "Ready") return onReady(told);
      this.heard = true;
      onResult(told);
    };
    this.onProgress = onProgress;
    this.onFull = onFull;
    this.stopped = false;
    this.stopping = new Promise((resolve) => (this.resolveStopping = resolve));
  }

  // Send the file when the recognizer has room, and wait for all results; returns the seconds of audio, throws PageError.
  async run() {
    for (;;) {
      try {
        return await this.recognize();
      } catch (error) {
        if (!error.full || this.heard || this.stopped) throw error;
        this.onFull(error);
        await Promise.race([this.stopping, new Promise((resolve) => setTimeout(resolve, error.retryMs))]);
        if (this.stopped) throw error;
      }
    }
  }

  // As it is, or else decoded.
  async recognize() {
    try {
      return await this.stream(this.file, { encoding: "AUTO" });
    } catch (error) {
      if (error.code !== "INVALID_ARGUMENT" || this.heard || this.stopped) throw error;
      const samples = await decoded(this.file);
      if (samples === null) throw error;
      return await this.stream(new Blob([samples]), { sample_rate: DECODED_HZ });
    }
  }

  async stream(blob, format) {
    const stream = new RecognitionStream({ ...this.config, ...format }, this.onMessage);
    try {
      await Promise.race([this.send(stream, blob), stream.ended]);
      stream.close();
      return (await stream.ended).audio_s;
    } finally {
      stream.abort();
    }
  }

  // As fast as the socket drains.
  async send(stream, blob) {
    for (let at = 0; at < blob.size && !this.stopped; at += SLICE_BYTES) {
      await stream.drained();
      stream.send(await blob.slice(at, at + SLICE_BYTES).arrayBuffer());
      this.onProgress(Math.min(1, (at + SLICE_BYTES) / blob.size));
    }
  }

  // End after what has been sent; at once where it waits.
  stop() {
    this.stopped = true;
    this.resolveStopping();
  }
}

// Int16Array of the file's audio, mono, at DECODED_HZ; null: the browser cannot decode it either.
async function decoded(file) {
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, DECODED_HZ).decodeAudioData(await file.arrayBuffer());
  } catch {
    return null;
  }
  const channels = Array.from({ length: audio.numberOfChannels }, (_, channel) => audio.getChannelData(channel));
  return Int16Array.from({ length: audio.length }, (_, at) => {
    const sample = channels.reduce((sum, channel) => sum + channel[at], 0) / channels.length;
    return Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
  });
}
