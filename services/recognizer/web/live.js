// Live audio over as many streams as it takes: where a limit or a shutdown ends one, the next goes on from there.

import { PageError } from "./errors.js";
import { SentAudio } from "./sent_audio.js";
import { RecognitionStream } from "./stream.js";

const GOES_ON = new Set(["OUT_OF_RANGE", "DEADLINE_EXCEEDED", "UNAVAILABLE"]);
const MOST_WAITING_BYTES = 4 << 20; // 44 s at 48 kHz, that the network is behind

export class LiveStream {
  // onResult(result, latencyMs): times of the result are from the beginning of the audio. onReady(message).
  // `ended` resolves with the seconds of audio, or rejects with a PageError.
  constructor(config, rateHz, { onReady, onResult }) {
    this.config = { ...config, sample_rate: rateHz };
    this.rateHz = rateHz;
    this.onReady = onReady;
    this.onResult = onResult;
    this.beforeS = 0; // audio of earlier streams
    this.closing = false;
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.open([]);
  }

  get seconds() {
    return this.beforeS + this.sent.seconds;
  }

  open(rest) {
    this.sent = new SentAudio(this.rateHz);
    this.finalS = null;
    this.stream = new RecognitionStream(this.config, (told) => this.read(told));
    this.stream.ended.then(() => this.resolve(this.seconds), (error) => this.failed(error));
    for (const samples of rest) this.send(samples);
    if (this.closing) this.stream.close();
  }

  read(told) {
    if (told.type === "Ready") return this.onReady(told);
    const latencyMs = this.sent.latencyMs(told.end_s, performance.now());
    if (told.is_final) {
      this.finalS = told.end_s;
      this.sent.drop(told.end_s);
    }
    this.onResult({ ...told, start_s: told.start_s + this.beforeS, end_s: told.end_s + this.beforeS }, latencyMs);
  }

  // The audio goes on where the last final result ends: without one, a new stream would fare no better.
  failed(error) {
    if (!GOES_ON.has(error.code) || this.finalS === null) return this.reject(error);
    const rest = this.sent.after(this.finalS);
    this.beforeS += this.finalS;
    this.open(rest);
  }

  // samples: Int16Array, about 100 ms.
  send(samples) {
    this.sent.push(samples, performance.now());
    this.stream.send(samples);
    if (this.stream.socket.bufferedAmount > MOST_WAITING_BYTES) {
      this.reject(new PageError("The connection is too slow", "The network does not take audio as it is spoken."));
    }
  }

  finalize() {
    this.stream.finalize();
  }

  close() {
    this.closing = true;
    this.stream.close();
  }

  abort() {
    this.stream.abort();
  }
}
