// The recognizer's addresses, relative to the page's, and the API key that it may ask for.

import { NeedsKey, PageError } from "./errors.js";

const SUBPROTOCOL = "token"; // a browser's WebSocket can set no header

let key = "";

// key: of the requests from now on; empty: none. It is kept as long as the page is open.
export function useKey(value) {
  key = value;
}

// Names of the models in service; throws NeedsKey, and PageError.
export async function modelNames() {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const response = await fetch(new URL("v1/models", document.baseURI), { headers }).catch(() => null);
  if (response?.status === 401) throw new NeedsKey(key);
  if (!response?.ok) {
    throw new PageError("The recognizer does not answer", "Is it running? Reload the page to try again.");
  }
  const names = (await response.json()).data.map((model) => model.id);
  if (names.length === 0) throw new PageError("No model is served", "Export one, then reload the page.");
  return names;
}

// A WebSocket of /v1/stream. config: parameters of the query.
export function openSocket(config) {
  const url = new URL("v1/stream", document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = new URLSearchParams(config);
  return new WebSocket(url, key ? [SUBPROTOCOL, key] : []);
}
