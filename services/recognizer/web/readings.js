// Level, latency and progress, as numbers for everybody.

const LEAST_DB = -60;
const CLIPPED = 32700;

export class Readings {
  constructor({ level, sent, latency, served }) {
    Object.assign(this, { level, sent, latency, served });
  }

  begin() {
    this.latencies = [];
    for (const element of [this.sent, this.latency, this.served]) element.textContent = "–";
  }

  // samples: Int16Array; shown is their root mean square, relative to full scale.
  showLevel(samples) {
    let [sum, peak] = [0, 0];
    for (const sample of samples) {
      sum += sample * sample;
      peak = Math.max(peak, Math.abs(sample));
    }
    const db = 10 * Math.log10(sum / Math.max(1, samples.length) / 32768 ** 2);
    const shown = Math.max(LEAST_DB, Math.min(0, db));
    this.level.style.setProperty("--level", 1 - shown / LEAST_DB);
    this.level.classList.toggle("clipped", peak > CLIPPED);
    this.level.setAttribute("aria-valuenow", Math.round(shown));
    this.level.setAttribute("aria-valuetext", `${Math.round(shown)} dB`);
  }

  showLatency(ms) {
    this.latencies.push(ms);
    const sorted = [...this.latencies].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    this.latency.textContent = `${Math.round(ms)} ms (median ${Math.round(median)} ms)`;
  }

  showSent(text) {
    this.sent.textContent = text;
  }

  showServed(model) {
    this.served.textContent = model;
  }

  end() {
    this.showLevel([]);
  }
}
