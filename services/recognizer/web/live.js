// Live audio over as many streams as it takes: where a limit or a drain ends one, the next goes on by its resume token.

import { PageError } from "./errors.js";
import { SentAudio } from "./sent_audio.js";
import { RecognitionStream } from "./stream.js";

const PATIENCE_MS = 10_000; // with recognizers that do not take the stream that goes on
const MOST_FULL_MS = 600_000; // with those that are full, as audio is kept until then
const MOST_WAITING_BYTES = 4 << 20; // 44 s at 48 kHz, that the network is behind

export class LiveStream {
  // onResult(result, latencyMs): times of the result are from the beginning of the audio. onReady(message). onFull(error):
  // the stream waits, as it is told. `ended` resolves with the seconds of audio, or rejects with a PageError.
  constructor(config, rateHz, { onReady, onResult, onFull }) {
    this.config = { ...config, sample_rate: rateHz };
    this.sent = new SentAudio(rateHz);
    this.onReady = onReady;
    this.onResult = onResult;
    this.onFull = onFull;
    this.suspended = false; // the recognizer has ended the stream with a token
    this.patientUntilMs = 0;
    this.fullSinceMs = null;
    this.refusal = null; // after which the stream waits
    this.closing = false;
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.open();
  }

  get seconds() {
    return this.sent.seconds;
  }

  open() {
    this.refusal = null;
    this.sentAgainBytes = this.sent.bytes;
    this.stream = new RecognitionStream(this.config, (message) => this.read(message));
    this.stream.ended.then(() => this.resolve(this.seconds), (error) => this.failed(error));
    for (const { samples } of this.sent.messages) this.stream.send(samples);
    if (this.closing) this.stream.close();
  }

  read(message) {
    if (message.type === "Ready") {
      this.fullSinceMs = null;
      return this.onReady(message);
    }
    const latencyMs = this.sent.latencyMs(message.end_s, performance.now());
    this.patientUntilMs = 0;
    if (message.is_final) this.sent.drop(message.resume_s ?? message.end_s);
    if (message.resume_token) {
      this.config.resume_token = message.resume_token;
      this.suspended = true;
    }
    this.onResult(message, latencyMs);
  }

  // A suspended stream goes on at once; until that is taken up, it is tried again. Where the recognizer is full, any is.
  failed(error) {
    const nowMs = performance.now();
    if (error.full && !this.closing) this.awaitRoom(error, nowMs);
    if (this.suspended) {
      this.suspended = false;
      this.patientUntilMs = nowMs + PATIENCE_MS;
      this.open();
    } else if (nowMs + error.retryMs < this.patientUntilMs) {
      this.refusal = error;
      this.retry = setTimeout(() => this.open(), error.retryMs);
    } else {
      this.reject(error);
    }
  }

  // Be patient beyond the time in which a retry helps.
  awaitRoom(error, nowMs) {
    this.fullSinceMs ??= nowMs;
    if (nowMs + error.retryMs - this.fullSinceMs > MOST_FULL_MS) return;
    this.patientUntilMs = nowMs + error.retryMs + PATIENCE_MS;
    this.onFull(error);
  }

  // samples: Int16Array, about 100 ms.
  send(samples) {
    this.sent.push(samples, performance.now());
    this.stream.send(samples);
    if (this.stream.socket.bufferedAmount > this.sentAgainBytes + MOST_WAITING_BYTES) {
      this.reject(new PageError("The connection is too slow", "The network does not take audio as it is spoken."));
    }
  }

  finalize() {
    this.stream.finalize();
  }

  // Ask for what is left, and `ended` then; a full recognizer is not waited for.
  close() {
    this.closing = true;
    if (this.refusal?.full) this.reject(this.refusal);
    this.stream.close();
  }

  abort() {
    clearTimeout(this.retry);
    this.stream.abort();
  }
}
