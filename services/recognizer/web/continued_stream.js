// Audio over as many streams as it takes: where a limit, a drain or a broken connection ends one, the next goes on
// behind the last final result, so that no word is lost or doubled.

import { RecognitionStream } from "./stream.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000]; // before each try to go on, until a result comes
const BEGINNING = { placeS: 0, originS: 0, resume: {} };

export class ContinuedStream {
  // source.from(placeS): resolves with {format, send}: the audio's parameters of the query, and a function that sends a
  // stream the audio from there on, and resolves at its end. mostFullMs: how long to wait for a recognizer that is
  // full. keepsTrying: to connect again after `stop`, too. onReady(message). onResult(result, placeS): times are from
  // the beginning of the audio; the next stream would begin at placeS. onWaiting(error, pauseMs): a try follows.
  constructor(config, source, { mostFullMs, keepsTrying, onReady, onResult, onWaiting }) {
    Object.assign(this, { config, source, mostFullMs, keepsTrying, onReady, onResult, onWaiting });
    this.next = BEGINNING; // stream: where its audio begins, where its times count from, and its token
    this.shownS = 0; // end of the last result
    this.suspended = false; // the recognizer has ended the stream with a token
    this.answered = false; // by a recognizer
    this.tries = 0;
    this.fullSinceMs = null;
    this.stopped = this.aborted = false;
  }

  // Recognize the source's audio; resolves with its seconds, or rejects with a PageError.
  async run() {
    for (;;) {
      try {
        return await this.recognize(this.next);
      } catch (error) {
        await this.goOn(error);
      }
    }
  }

  async recognize({ placeS, originS, resume }) {
    const { format, send } = await this.source.from(placeS);
    const config = { ...this.config, ...format, ...resume };
    const stream = new RecognitionStream(config, (message) => this.read(message, originS));
    this.stream = stream;
    stream.opened.then(() => (this.answered = true));
    try {
      await Promise.race([send(stream), stream.ended]);
      stream.close();
      return originS + (await stream.ended).audio_s;
    } finally {
      stream.abort();
    }
  }

  read(message, originS) {
    if (message.type === "Ready") {
      this.fullSinceMs = null;
      return this.onReady(message);
    }
    this.tries = 0;
    const { is_final, start_s, end_s, resume_s, resume_token } = message;
    const endS = originS + end_s;
    if (is_final) {
      this.suspended = Boolean(resume_token);
      this.next = this.suspended
        ? { placeS: originS + resume_s, originS, resume: { resume_token } }
        : { placeS: endS, originS: endS, resume: {} };
    } else if (endS < this.shownS) return; // of audio that is sent again: what is shown has more words
    this.shownS = is_final ? this.next.placeS : endS;
    this.onResult({ ...message, start_s: originS + start_s, end_s: endS }, this.next.placeS);
  }

  // Return when the next stream may begin; throws the error if none may.
  async goOn(error) {
    if (this.aborted) throw error;
    if (this.suspended) {
      this.suspended = false;
      return;
    }
    const pauseMs = this.stopped && !this.keepsTrying ? null : this.pauseMs(error, performance.now());
    if (pauseMs === null) throw error;
    this.onWaiting(error, pauseMs);
    await new Promise((resolve, reject) => {
      this.wake = error.full || !this.keepsTrying ? () => reject(error) : resolve;
      setTimeout(resolve, pauseMs);
    });
    if (this.aborted) throw error;
  }

  // Milliseconds until another stream is tried; null: none is. Where the recognizer is full, any waits as it is told.
  pauseMs(error, nowMs) {
    if (!this.answered || !(error.retryMs >= 0)) return null;
    if (error.full && !this.stopped) {
      this.fullSinceMs ??= nowMs;
      this.tries = 0;
      return nowMs + error.retryMs - this.fullSinceMs > this.mostFullMs ? null : error.retryMs;
    }
    if (this.tries === PAUSES_MS.length) return null;
    return Math.max(error.retryMs, PAUSES_MS[this.tries++]);
  }

  // The audio ends here: a full recognizer is not waited for, and a broken connection is tried at once, or given up.
  stop() {
    this.stopped = true;
    this.wake?.();
  }

  abort() {
    this.aborted = true;
    this.wake?.();
    this.stream?.abort();
  }
}
