/**
 * The capacity page: curves with the live point of the cluster, the strip of one domain, and the books over time.
 *
 * Each frame says how many domains have how many nodes; a table of the model, which came with the page, turns that into
 * usable nodes for each slice size. So the model is computed in one place, and the point moves with every frame.
 */

import { Chart, frame, shade } from "./charts.js";
import { $, $$, grouped, pageData, request, setText } from "./dom.js";

const DASHES = ["solid", "dash", "dot", "dashdot"];
const EVERY = 1_000; // ms between drawings: the books change with every frame
const percent = (share) => `${(100 * share).toFixed(2)} %`;

/** Usable nodes of domains at these levels; null where the page has no table for one of them. */
export function usableAt(table, levels) {
  return levels.reduce((sum, [nodes, available, domains]) => sum + (table[nodes]?.[available] ?? NaN) * domains, 0);
}

class Curves {
  constructor(data, palette) {
    Object.assign(this, { data, palette, now: data.now, assume: "correlated" });
    const choice = $("[data-assume]");
    choice.hidden = false;
    choice.addEventListener("change", (event) => {
      this.assume = event.target.value;
      this.chart.draw();
    });
    this.chart = new Chart("usable", () => this.#figure());
  }

  take(now) {
    this.now = now;
    const share = this.#share();
    setText($("[data-now-share]"), percent(share));
    setText($("[data-now-away]"), grouped(now.unavailable));
    for (const size of this.data.sizes) {
      const usable = this.#usable(size);
      if (Number.isFinite(usable)) setText($(`[data-usable-now="${size}"]`), grouped(usable));
    }
    this.chart.draw();
  }

  #share() {
    return this.now.nodes ? this.now.unavailable / this.now.nodes : 0;
  }

  #usable(size) {
    return usableAt(this.data.tables[size], this.now.levels);
  }

  #figure() {
    const { sizes, curves, nodes } = this.data;
    const x = curves.unavailability.map((share) => 100 * share);
    const here = 100 * this.#share();
    const lines = sizes.map((size, index) => ({
      x,
      y: curves[this.assume][size],
      name: `${size} nodes`,
      legendgroup: size,
      mode: "lines",
      line: { color: this.#color(index), width: 2, dash: DASHES[Math.floor(index / 2) % DASHES.length] },
      hovertemplate: "%{y:,.0f}",
    }));
    const points = sizes.map((size, index) => ({
      x: [here],
      y: [this.#usable(size)],
      name: `${size} now`,
      legendgroup: size,
      showlegend: false,
      mode: "markers",
      marker: { color: this.#color(index), size: 11, symbol: "diamond", line: { width: 2, color: shade(this.palette.ground) } },
      hovertemplate: "%{y:,} now",
    }));
    const most = Math.max(x[x.length - 1], here * 1.1);
    const layout = frame({
      xaxis: { title: "Unavailable nodes", ticksuffix: " %", range: [0, most], hoverformat: ".2f" },
      yaxis: { title: "Usable nodes", tickformat: ",d", range: [this.#floor(lines, points), nodes * 1.015] },
      shapes: this.#band(),
    });
    return { traces: [...lines, ...points], layout };
  }

  /** The interval of what the log says of the unavailability. */
  #band() {
    const { low, high } = this.data.seen ?? {};
    if (low == null || high == null) return [];
    const color = shade(this.palette.use.find((state) => state.value === "idle"));
    return [{ type: "rect", xref: "x", yref: "paper", x0: 100 * low, x1: 100 * high, y0: 0, y1: 1, line: { width: 0 }, fillcolor: color, opacity: 0.14, layer: "below" }];
  }

  #floor(lines, points) {
    const least = Math.min(...[...lines, ...points].flatMap((trace) => trace.y.filter(Number.isFinite)));
    return Math.max(0, least - 0.04 * this.data.nodes);
  }

  #color(index) {
    return shade(this.palette.hues[index % this.palette.hues.length]);
  }
}

/** The books as areas that sum to all nodes; the last one is now. */
class Books {
  constructor(data, palette) {
    this.palette = palette;
    this.samples = data.samples.map((sample) => ({ at: sample.at_us / 1000, ...sample }));
    this.width = data.width_us / 1000;
    this.live = null;
    this.partition = "use";
    const choice = $("[data-partition]");
    choice.hidden = false;
    choice.addEventListener("change", (event) => {
      this.partition = event.target.value;
      this.chart.draw();
    });
    this.chart = new Chart("history", () => this.#figure());
  }

  /** Takes a frame's counts as of now; once in a sample's time they stay. */
  take({ counts, clock }) {
    const at = (clock.cluster_us + Math.max(0, Date.now() * 1000 - clock.wall_us) * clock.speed) / 1000;
    const last = this.samples[this.samples.length - 1];
    if (this.live && Math.floor(this.live.at / this.width) > Math.floor((last?.at ?? 0) / this.width)) this.samples.push(this.live);
    this.live = { at, use: counts.use, condition: counts.condition };
    this.#soon();
  }

  #soon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.chart.draw();
    }, EVERY);
  }

  #figure() {
    const samples = this.live ? [...this.samples, this.live] : this.samples;
    const x = samples.map((sample) => sample.at);
    const traces = this.palette[this.partition].map((state) => ({
      x,
      y: samples.map((sample) => sample[this.partition][state.value] ?? 0),
      name: state.label,
      stackgroup: "nodes",
      mode: "lines",
      line: { width: 0.5, color: shade(state), shape: "hv" },
      fillcolor: shade(state),
      hovertemplate: "%{y:,}",
    }));
    const shown = traces.filter((trace) => trace.y.some((count) => count > 0));
    const layout = frame({ xaxis: { type: "date" }, yaxis: { title: "Nodes", tickformat: ",d", rangemode: "tozero" } });
    return { traces: shown, layout };
  }
}

/** One domain whose nodes can be failed by hand. */
class Strip {
  constructor(root) {
    this.root = root;
    this.nodes = $$("[data-strip-node]", root);
    this.reset = $("[data-strip-reset]", root);
    $("[data-strip-nodes]", root).hidden = false;
    root.addEventListener("click", (event) => {
      const node = event.target.closest("[data-strip-node]");
      if (node) this.#set(node, node.getAttribute("aria-pressed") === "false");
      if (event.target === this.reset) this.nodes.forEach((each) => this.#set(each, false));
      if (node || event.target === this.reset) this.#show();
    });
    root.addEventListener("keydown", (event) => this.#step(event));
    this.#show();
  }

  #set(node, failed) {
    const state = failed ? "failed" : "healthy";
    node.setAttribute("aria-pressed", String(failed));
    node.className = failed ? "condition-failed" : "";
    $(".glyph", node).setAttribute("class", `glyph condition-${state}`);
    $("use", node).setAttribute("href", `#condition-${state}`);
  }

  #step(event) {
    const place = this.nodes.indexOf(document.activeElement);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (place < 0 || !by) return;
    event.preventDefault();
    this.nodes[place + by]?.focus();
  }

  #show() {
    const failed = this.nodes.filter((node) => node.getAttribute("aria-pressed") === "true").length;
    for (const cell of $$("[data-failures]", this.root)) cell.classList.toggle("is-here", Number(cell.dataset.failures) === failed);
    this.reset.hidden = failed === 0;
    const left = $$("tbody tr", this.root).map((row) => `${$("th", row).textContent}: ${$(".is-here", row).textContent}`);
    const what = failed === 0 ? "All well" : `${failed} failed`;
    setText($("[data-strip-line]", this.root), `${what}; nodes that slices can use, by size: ${left.join(", ")}. Press a node to fail it.`);
  }
}

/** Starts the page; `live` sends frames, and says when what came before no longer holds. */
export function startCapacity(root, live) {
  const [data, palette] = [pageData("capacity-data"), pageData("palette")];
  const curves = new Curves(data, palette);
  const books = new Books(data.history, palette);
  new Strip($("[data-strip]", root));
  let seq = data.seq;
  live.addEventListener("delta", ({ detail }) => {
    seq = detail.to;
    curves.take(detail.capacity);
    books.take(detail);
  });
  live.addEventListener("reset", async () => {
    const response = await request(root.dataset.reportUrl);
    if (!response.ok) return;
    const report = await response.json();
    if (report.seq < seq && report.now.nodes === curves.now.nodes) return; // a frame was faster
    seq = report.seq;
    curves.take(report.now);
  });
}
