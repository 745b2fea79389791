// One stream of the recognizer, /v1/stream: audio out, results in.

import { ConnectionLost, RecognizerError } from "./errors.js";
import { openSocket } from "./server.js";

const HIGH_WATER_BYTES = 1 << 20; // in the socket's buffer, which has no event when it drains
const LOOK_EVERY_MS = 20;

export class RecognitionStream {
  // config: parameters of the query. onMessage: called with each Ready and Results.
  // `ended` resolves with the message Closed, or rejects with a PageError.
  constructor(config, onMessage) {
    this.socket = openSocket(config);
    this.opened = new Promise((resolve) => (this.socket.onopen = resolve));
    this.ended = new Promise((resolve, reject) => {
      this.socket.onmessage = ({ data }) => {
        const message = JSON.parse(data);
        if (message.type === "Error") reject(new RecognizerError(message));
        else if (message.type === "Closed") resolve(message);
        else onMessage(message);
      };
      this.socket.onclose = ({ code }) => reject(new ConnectionLost(code));
    });
    this.ended.catch(() => {}); // who waits for it is told
  }

  // Send audio: an ArrayBuffer, a view, or a Blob; dropped once the socket is closed, as `ended` tells.
  send(audio) {
    this.opened.then(() => {
      if (this.socket.readyState === WebSocket.OPEN) this.socket.send(audio);
    });
  }

  finalize() {
    this.command("Finalize");
  }

  // Ask for what is left: final results, then the end.
  close() {
    this.command("CloseStream");
  }

  // Drop the stream.
  abort() {
    this.socket.close();
  }

  // Wait until the socket has room, or has ended; resolves with whether it is open.
  async drained() {
    await Promise.race([this.opened, this.ended.catch(() => {})]);
    while (this.socket.readyState === WebSocket.OPEN && this.socket.bufferedAmount > HIGH_WATER_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return this.socket.readyState === WebSocket.OPEN;
  }

  command(type) {
    this.send(JSON.stringify({ type }));
  }
}
