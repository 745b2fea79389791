// Live audio, kept until a final result covers it, so that a stream that goes on has it again.

import { ContinuedStream } from "./continued_stream.js";
import { PageError } from "./errors.js";
import { SentAudio } from "./sent_audio.js";

const MOST_FULL_MS = 600_000; // as audio is kept until the recognizer has room
const MOST_WAITING_BYTES = 4 << 20; // 44 s at 48 kHz, that the network is behind

export class LiveStream {
  // onReady(message), onWaiting(error, pauseMs): as of ContinuedStream. onResult(result, latencyMs). `ended` resolves
  // with the seconds of audio, or rejects with a PageError.
  constructor(config, rateHz, { onReady, onResult, onWaiting }) {
    this.sent = new SentAudio(rateHz);
    this.onResult = onResult;
    this.closing = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.closing.catch(() => {}); // whoever waits for it is told
    this.streams = new ContinuedStream({ ...config, sample_rate: rateHz }, this, {
      mostFullMs: MOST_FULL_MS,
      keepsTrying: true,
      onReady,
      onResult: (result, placeS) => this.read(result, placeS),
      onWaiting,
    });
    this.ended = this.streams.run();
    this.ended.catch(() => {}); // so too
  }

  get seconds() {
    return this.sent.seconds;
  }

  // What is kept begins there; what comes later is sent by `send`.
  async from() {
    return { format: {}, send: (stream) => this.sendAgain(stream) };
  }

  async sendAgain(stream) {
    this.stream = stream;
    this.sentAgainBytes = this.sent.bytes;
    for (const { samples } of this.sent.messages) stream.send(samples);
    await this.closing;
  }

  read(result, placeS) {
    const latencyMs = this.sent.latencyMs(result.end_s, performance.now());
    if (result.is_final) this.sent.drop(placeS);
    this.onResult(result, latencyMs);
  }

  // samples: Int16Array, about 100 ms.
  send(samples) {
    this.sent.push(samples, performance.now());
    this.stream?.send(samples);
    if (this.stream?.socket.bufferedAmount > this.sentAgainBytes + MOST_WAITING_BYTES) {
      this.reject(new PageError("The connection is too slow", "The network does not take audio as it is spoken."));
    }
  }

  finalize() {
    this.stream?.finalize();
  }

  // Ask for what is left, and `ended` then.
  close() {
    this.resolve();
    this.streams.stop();
  }

  abort() {
    this.streams.abort();
  }
}
