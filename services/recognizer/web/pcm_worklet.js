// Microphone's samples in, messages of 16-bit PCM out, mono, at the context's rate; in the audio thread.

const MESSAGE_S = 0.1;

class PcmProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this.samples = new Int16Array(Math.round(MESSAGE_S * sampleRate));
    this.filled = 0;
    this.ended = false;
    this.port.onmessage = () => this.end();
  }

  // inputs: [inputs][channels][128], in -1 to 1. Outputs stay silent.
  process([channels]) {
    if (!this.ended && channels.length > 0) {
      for (let at = 0; at < channels[0].length; at++) {
        let sum = 0;
        for (const channel of channels) sum += channel[at];
        this.push(sum / channels.length);
      }
    }
    return !this.ended;
  }

  push(sample) {
    this.samples[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
    if (this.filled === this.samples.length) this.flush();
  }

  flush() {
    const message = this.samples.slice(0, this.filled);
    this.filled = 0;
    if (message.length > 0) this.port.postMessage(message, [message.buffer]);
  }

  // Post what is left, then null.
  end() {
    this.flush();
    this.ended = true;
    this.port.postMessage(null);
  }
}

registerProcessor("pcm", PcmProcessor);
