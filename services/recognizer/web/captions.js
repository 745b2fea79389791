// Captions: final utterances, and one that may still change, shaded by its stability.

export class Captions {
  constructor({ scroll, hint, finals, interim }) {
    Object.assign(this, { scroll, hint, finals, interim });
  }

  // Begin another recording, below those before.
  begin(title) {
    this.hint.hidden = true;
    const heading = document.createElement("h3");
    heading.textContent = title;
    this.finals.append(heading);
  }

  // result: a message Results; an empty transcript is silence.
  show(result) {
    const text = result.alternatives[0].transcript;
    const follows = this.atEnd();
    if (result.is_final) {
      if (text) this.finals.append(this.utterance(result.start_s, text));
      this.endInterim();
    } else {
      this.interim.hidden = !text;
      this.interim.style.setProperty("--stability", result.stability);
      fill(this.interim, result.start_s, text);
    }
    if (follows) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  // There is nothing more that may change; text without a final result stays, as it is.
  end() {
    if (!this.interim.hidden) this.finals.append(this.copy());
    this.endInterim();
  }

  endInterim() {
    this.interim.hidden = true;
    fill(this.interim, 0, "");
  }

  clear() {
    this.finals.replaceChildren();
    this.hint.hidden = false;
  }

  utterance(startS, text) {
    const element = this.copy();
    element.className = "utterance";
    element.hidden = false;
    fill(element, startS, text);
    return element;
  }

  // Of the interim text.
  copy() {
    const element = this.interim.cloneNode(true);
    element.removeAttribute("id");
    element.removeAttribute("aria-live");
    return element;
  }

  // Whether the reader is at the end: captions do not scroll away from whoever reads back.
  atEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroll;
    return scrollTop + clientHeight > scrollHeight - 40;
  }
}

function fill(element, startS, text) {
  element.querySelector(".time").textContent = clock(startS);
  element.querySelector(".text").textContent = text;
}

// Seconds as 1:02 or 1:00:02.
export function clock(seconds) {
  const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  const tail = String(rest).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${tail}` : `${minutes}:${tail}`;
}
