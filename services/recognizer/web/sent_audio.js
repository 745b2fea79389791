// Audio that was sent and has no final result yet: when it was sent, and what to send again in a new stream.

export class SentAudio {
  constructor(rateHz) {
    this.rateHz = rateHz;
    this.seconds = 0;
    this.messages = []; // {samples, startS, endS, atMs}
  }

  push(samples, atMs) {
    const startS = this.seconds;
    this.seconds += samples.length / this.rateHz;
    this.messages.push({ samples, startS, endS: this.seconds, atMs });
  }

  // Milliseconds from the sending of the last audio that a result up to endS covers; null: it was not sent here.
  latencyMs(endS, nowMs) {
    const last = this.messages.find((message) => message.endS >= endS - 1e-6);
    return last ? nowMs - last.atMs : null;
  }

  // Forget what a final result up to endS covers.
  drop(endS) {
    this.messages = this.messages.filter((message) => message.endS > endS);
  }

  // Samples after endS, as a list of Int16Array.
  after(endS) {
    return this.messages
      .filter((message) => message.endS > endS)
      .map(({ samples, startS }) => samples.subarray(Math.max(0, Math.round((endS - startS) * this.rateHz))))
      .filter((samples) => samples.length > 0);
  }
}
