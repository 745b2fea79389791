// Audio that was sent and has no final result yet: when it was sent, and what to send again in a new stream.

export class SentAudio {
  constructor(rateHz) {
    this.rateHz = rateHz;
    this.end = 0; // of all that was sent, in samples
    this.messages = []; // {samples, end, atMs}
  }

  get seconds() {
    return this.end / this.rateHz;
  }

  // Of what is kept.
  get bytes() {
    return this.messages.reduce((sum, { samples }) => sum + samples.byteLength, 0);
  }

  push(samples, atMs) {
    this.end += samples.length;
    this.messages.push({ samples, end: this.end, atMs });
  }

  // Milliseconds from the sending of the last audio that a result up to endS covers; null: it is not kept.
  latencyMs(endS, nowMs) {
    const last = this.messages.find(({ end }) => end >= Math.round(endS * this.rateHz));
    return last ? nowMs - last.atMs : null;
  }

  // Forget what comes before atS.
  drop(atS) {
    const at = Math.round(atS * this.rateHz);
    this.messages = this.messages.filter(({ end }) => end > at);
    const [first] = this.messages;
    if (first) first.samples = first.samples.subarray(at - first.end); // its last ones, or all
  }
}
