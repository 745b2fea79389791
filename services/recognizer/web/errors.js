// Errors as a user reads them: what is wrong, what to do, and the recognizer's own words.

// By the status in `code` of the WebSocket's Error.
const STATUSES = {
  UNAUTHENTICATED: "The API key is refused",
  INVALID_ARGUMENT: "The recognizer cannot read this audio",
  NOT_FOUND: "The model is not served",
  OUT_OF_RANGE: "The recording is longer than a stream may be",
  DEADLINE_EXCEEDED: "The recognizer has waited too long for audio",
  RESOURCE_EXHAUSTED: "The recognizer is full",
  UNAVAILABLE: "The recognizer shuts down",
  INTERNAL: "The recognizer has failed",
};

export class PageError extends Error {
  // title: what is wrong. message: details, or what to do.
  constructor(title, message) {
    super(message);
    this.title = title;
  }
}

export class RecognizerError extends PageError {
  // message: `Error` of the recognizer.
  constructor(message) {
    super(STATUSES[message.code] ?? "The recognizer refuses", message.message);
    this.code = message.code;
    this.retryMs = 1000 * message.retry_after_s; // NaN: a retry does not help
    this.full = message.code === "RESOURCE_EXHAUSTED" && this.retryMs >= 0; // a retry helps when others have ended
  }
}

export class NeedsKey extends PageError {
  // key: the one that was refused; empty: none was sent.
  constructor(key) {
    super("The recognizer asks for an API key", key ? "This one is unknown, expired or disabled." : "Enter it below.");
  }
}

export class ConnectionLost extends PageError {
  // code: of the WebSocket's close event.
  constructor(code) {
    super("The connection to the recognizer is lost", `It may be down, or out of reach (WebSocket code ${code}).`);
    this.retryMs = 0; // it may be back
  }
}

// Show an error in an element with role=alert; null: none.
export function showError(element, error) {
  element.replaceChildren();
  if (error === null) return;
  const title = document.createElement("strong");
  title.textContent = error.title ?? "This page has failed";
  element.append(title, error.message);
  if (error.code) {
    const code = document.createElement("small");
    code.textContent = ` (${error.code})`;
    element.append(code);
  }
}
