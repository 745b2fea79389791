// The microphone as messages of 16-bit PCM.

import { PageError } from "./errors.js";

// Models are trained in noise and far from the microphone: what a browser does for calls only distorts speech.
const TRACK = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };

const REASONS = {
  NotAllowedError: ["The microphone is not allowed", "Allow it for this page in the browser, then start again."],
  NotFoundError: ["There is no microphone", "Connect one, then start again; or choose a file."],
  NotReadableError: ["The microphone cannot be used", "Another program may have it."],
};

export class Microphone {
  // Ask for the microphone, and open it; throws PageError.
  static async open() {
    if (!navigator.mediaDevices || !window.AudioWorkletNode) {
      const advice = `Browsers give it to pages from localhost or by https; this one is from ${location.origin}.`;
      throw new PageError("The microphone is out of reach", advice);
    }
    let tracks;
    try {
      tracks = await navigator.mediaDevices.getUserMedia({ audio: TRACK });
    } catch (error) {
      throw new PageError(...(REASONS[error.name] ?? ["The microphone cannot be opened", error.message]));
    }
    const microphone = new Microphone(tracks);
    try {
      await microphone.context.audioWorklet.addModule(new URL("pcm_worklet.js", import.meta.url));
    } catch (error) {
      microphone.release();
      throw error;
    }
    return microphone;
  }

  constructor(tracks) {
    this.tracks = tracks;
    this.context = new AudioContext();
    this.rateHz = this.context.sampleRate;
  }

  // Call onMessage(Int16Array) about every 100 ms until `stop`; rejects with PageError when the microphone goes.
  async start(onMessage) {
    this.node = new AudioWorkletNode(this.context, "pcm");
    this.stopped = new Promise((resolve) => {
      this.node.port.onmessage = ({ data }) => (data === null ? resolve() : onMessage(data));
    });
    this.context.createMediaStreamSource(this.tracks).connect(this.node);
    this.node.connect(this.context.destination); // silence; nodes without a destination are not processed everywhere
    await this.context.resume();
    this.awake = await navigator.wakeLock?.request("screen").catch(() => null); // a phone that sleeps hears nothing
    await new Promise((resolve) => (this.tracks.getAudioTracks()[0].onended = resolve));
    throw new PageError("The microphone is gone", "It was unplugged, or taken away.");
  }

  // Deliver the last message, and release the microphone.
  async stop() {
    if (this.context.state === "running") {
      this.node.port.postMessage("end");
      await this.stopped;
    }
    this.release();
  }

  release() {
    this.awake?.release();
    for (const track of this.tracks.getTracks()) track.stop();
    if (this.context.state !== "closed") this.context.close();
  }
}
