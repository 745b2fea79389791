// The page: its controls, and one run at a time, of the microphone or of a file.

import { Captions, clock } from "./captions.js";
import { NeedsKey, PageError, showError } from "./errors.js";
import { LiveStream } from "./live.js";
import { Microphone } from "./microphone.js";
import { Readings } from "./readings.js";
import { Recording } from "./recording.js";
import { modelNames, useKey } from "./server.js";

const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
const captions = new Captions(page);
const readings = new Readings(page);
let run = null; // {stop, finalize} of what is recognized now

// Show the models in service, or what prevents it: a key is asked for where the recognizer wants one.
async function loadModels() {
  showError(page.error, null);
  try {
    const names = await modelNames();
    page.model.replaceChildren(...names.map((name) => new Option(name)));
    page.keyed.hidden = true;
    page.start.disabled = false;
    status("Ready");
  } catch (error) {
    page.keyed.hidden = !(error instanceof NeedsKey);
    showError(page.error, error);
    status("Not ready");
  }
}

function status(text) {
  page.status.textContent = text;
}

// Run one source to its end, and show how it ends. source(config, stopped): ends when `stopped` resolves; resolves with
// the text of the status.
async function recognize(title, source) {
  if (run) return;
  showError(page.error, null);
  document.body.classList.add("running");
  page.start.textContent = "Stop";
  page.start.focus();
  page.model.disabled = page.file.disabled = true;
  readings.begin();
  captions.begin(`${title}, ${new Date().toLocaleTimeString()}`);
  const stopped = new Promise((resolve) => (run = { stop: resolve, finalize() {} }));
  try {
    status(await source({ model: page.model.value, interim_results: true }, stopped));
  } catch (error) {
    showError(page.error, error);
    status("Ended by an error");
  }
  run = null;
  captions.end();
  readings.end();
  document.body.classList.remove("running");
  page.start.textContent = "Start microphone";
  page.start.disabled = page.model.disabled = page.file.disabled = false;
  page.finalize.disabled = true;
}

async function fromMicrophone(config, stopped) {
  status("Waiting for the microphone");
  const microphone = await Microphone.open();
  let stream;
  try {
    stream = new LiveStream(config, microphone.rateHz, {
      onReady: ({ model }) => served(model, "Listening"),
      onWaiting: waiting,
      onResult: (result, latencyMs) => {
        captions.show(result);
        if (latencyMs !== null) readings.showLatency(latencyMs);
      },
    });
    run.finalize = () => stream.finalize();
    const gone = microphone.start((samples) => hear(stream, samples));
    page.finalize.disabled = false;
    status("Listening");
    await Promise.race([stopped, stream.ended, gone]);
    finishing();
    await microphone.stop();
    stream.close();
    return `Done: ${(await stream.ended).toFixed(1)} s of audio`;
  } finally {
    microphone.release();
    stream?.abort();
  }
}

function hear(stream, samples) {
  stream.send(samples);
  readings.showLevel(samples);
  readings.showSent(clock(stream.seconds));
}

async function fromFile(config, file, stopped) {
  const began = performance.now();
  const recording = new Recording(config, file, {
    onReady: ({ model }) => served(model, `Sending ${file.name}`),
    onWaiting: waiting,
    onResult: (result) => captions.show(result),
    onProgress: (share) => readings.showSent(`${Math.round(100 * share)} %`),
  });
  stopped.then(() => {
    recording.stop();
    finishing();
  });
  status(`Sending ${file.name}`);
  const audioS = await recording.run();
  const tookS = (performance.now() - began) / 1000;
  return `Done: ${audioS.toFixed(1)} s of audio in ${tookS.toFixed(1)} s`;
}

function served(model, text) {
  readings.showServed(model);
  status(page.start.disabled ? "Finishing" : text);
}

function waiting(error, pauseMs) {
  const next = error.full ? `: ${error.message}. Waiting; Stop gives up` : `. Trying again in ${pauseMs / 1000} s`;
  status(error.title + next);
}

function finishing() {
  page.finalize.disabled = page.start.disabled = true;
  status("Finishing");
}

function choose(files) {
  if (files.length > 0) recognize(files[0].name, (config, stopped) => fromFile(config, files[0], stopped));
}

page.controls.onsubmit = (event) => event.preventDefault();
page.keyed.onsubmit = (event) => {
  event.preventDefault();
  useKey(page.key.value.trim());
  loadModels();
};
page.start.onclick = () => (run ? run.stop() : recognize("Microphone", fromMicrophone));
page.finalize.onclick = () => run?.finalize();
page.clear.onclick = () => captions.clear();
page.file.onchange = () => {
  const files = [...page.file.files];
  page.file.value = ""; // so that the same file can be chosen again
  choose(files);
};
document.ondragover = (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
};
document.ondragleave = () => document.body.classList.remove("dropping");
document.ondrop = (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  choose(event.dataTransfer.files);
};

loadModels();
