/**
 * The fleet map: the pieces put together, and what pointer and keyboard do with them.
 *
 * What is lit follows one of two choices: a legend row or a job. The choice survives deltas, resyncs and resizes.
 */

import { $, $$, counted, grouped, setText } from "./dom.js";
import { HoverCard } from "./hover.js";
import { Layout } from "./layout.js";
import { Legend } from "./legend.js";
import { Painter } from "./paint.js";
import { RackTable } from "./table.js";

const ARROWS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);
const LEAST_HEIGHT = 380;
const BOTTOM = 40; // room below the map in the window

export class FleetMap {
  constructor(root, palette, fleet) {
    Object.assign(this, { root, palette, fleet, cursor: -1, job: "", picked: null });
    this.stage = $("[data-map-stage]", root);
    this.canvas = $("canvas", root);
    this.hoverBox = $("[data-map-hover]", root);
    this.cursorBox = $("[data-map-cursor]", root);
    this.line = $("[data-map-line]", root);
    this.painter = new Painter(this.canvas, palette);
    this.card = new HoverCard(this.stage, palette);
    this.legend = new Legend($("[data-legend]"), (picked) => this.#pick(picked));
    this.table = new RackTable($("[data-map-table]", root), palette, (name) => this.#rackUrl(name));
    this.#pointer();
    this.#keyboard();
    this.#controls();
    new ResizeObserver(() => this.#resized()).observe(this.stage);
    document.addEventListener("themechange", () => this.relayout());
    const asked = new URLSearchParams(location.search);
    const by = $$('input[name="map-by"]', root).find((input) => input.value === asked.get("by"));
    if (by) {
      by.checked = true;
      this.painter.by = by.value;
    }
    this.#select(asked.get("job") ?? "");
  }

  /** After a snapshot: everything anew. */
  reset() {
    this.table.reset(this.fleet);
    this.framed = JSON.stringify(this.fleet.rackStates);
    this.relayout();
    this.#jobOptions();
    this.#tellSelection();
  }

  /** After a delta: only what changed. */
  change(nodes) {
    if (!this.layout) return;
    this.painter.change(nodes);
    this.table.change(nodes);
    this.#rackStates();
    this.numbers();
    if (this.hovered) this.card.show(this.fleet, this.hovered.hit, this.hovered.x, this.hovered.y);
    if (this.job) this.#tellSelection();
  }

  /** Racks that take other work than before are framed anew, with all others: that is rare. */
  #rackStates() {
    const now = JSON.stringify(this.fleet.rackStates);
    if (now === this.framed) return;
    this.framed = now;
    this.table.states();
    this.#relight();
  }

  relayout() {
    if (!this.fleet.racks) return;
    const width = this.stage.clientWidth;
    if (!width) return;
    this.width = width;
    const top = this.stage.getBoundingClientRect().top + window.scrollY;
    const height = Math.max(LEAST_HEIGHT, window.innerHeight - top - BOTTOM);
    this.layout = new Layout(this.fleet, width, height, this.painter.labelWidth(this.fleet.racks));
    this.#light();
    this.painter.reset(this.fleet, this.layout, resolvedTheme());
    this.#leave();
    this.#moveCursor(Math.min(this.cursor, this.fleet.racks.length - 1), { quiet: true });
    this.numbers();
  }

  /** Legend and header figures from the fleet's own counts. */
  numbers() {
    const { counts, jobCounts = {} } = this.fleet;
    this.legend.update({ ...counts, rack: this.fleet.rackCounts() });
    const use = (name) => counts.use[name] ?? 0;
    const busy = ["external", "stopping", "allocated", "lent", "shared"].reduce((sum, name) => sum + use(name), 0);
    const share = counts.nodes ? (100 * busy) / counts.nodes : 0;
    const figures = {
      nodes: grouped(counts.nodes),
      racks: `${grouped(this.fleet.racks.length)} ${this.fleet.racks.length === 1 ? "rack" : "racks"}`,
      "in-use": `${share.toFixed(1)} %`,
      busy: grouped(busy),
      "whole-free": grouped(this.fleet.wholeFreeRacks()),
      unhealthy: grouped(counts.nodes - (counts.condition.healthy ?? 0)),
      running: grouped(jobCounts.running ?? 0),
      waiting: grouped(jobCounts.waiting ?? 0),
      stalled: grouped(jobCounts.stalled ?? 0),
    };
    for (const node of $$("[data-figure]")) setText(node, figures[node.dataset.figure]);
    for (const bar of $$("[data-share]")) {
      bar.style.flexGrow = use(bar.dataset.share);
      bar.hidden = !use(bar.dataset.share); // a part of no width would still have its gap
    }
  }

  #resized() {
    if (this.stage.clientWidth !== this.width) this.relayout();
  }

  #rackUrl(name) {
    return this.root.dataset.rackUrl.replace("RACK", encodeURIComponent(name));
  }

  #open(rack) {
    location.assign(this.#rackUrl(this.fleet.racks[rack].name));
  }

  // What is lit

  #light() {
    const { fleet, picked, job } = this;
    this.found = Boolean(job && fleet.racks && fleet.nodesOf(job).size); // a job that is nowhere on the map darkens nothing
    if (this.found) {
      this.painter.lit = (node) => fleet.jobName(node) === job;
    } else if (picked?.kind === "rack") {
      this.painter.lit = (node) => fleet.rackState(fleet.rackOf[node]) === picked.value;
    } else if (picked) {
      const code = fleet[picked.kind === "use" ? "uses" : "conditions"].indexOf(picked.value);
      this.painter.lit = (node) => fleet[picked.kind][node] === code;
    } else {
      this.painter.lit = null;
    }
  }

  #relight() {
    this.#light();
    if (this.layout) this.painter.paintAll();
  }

  #pick(picked) {
    this.picked = picked;
    if (picked) this.#select("", { keepLegend: true });
    this.#relight();
  }

  #select(job, { keepLegend = false } = {}) {
    this.job = job;
    if (!keepLegend && job) {
      this.legend.clear();
      this.picked = null;
    }
    const input = $("[data-map-job]", this.root);
    if (input && document.activeElement !== input) input.value = job;
    this.#tellSelection();
    remember("job", job);
    this.#relight();
  }

  #tellSelection() {
    const chip = $("[data-map-selection]", this.root);
    chip.hidden = !this.job || !this.fleet.racks;
    if (chip.hidden) return;
    const nodes = this.fleet.nodesOf(this.job);
    if (nodes.size > 0 !== this.found) this.#relight();
    const racks = new Set([...nodes].map((node) => this.fleet.rackOf[node]));
    const link = $("a", chip);
    setText(link, this.job);
    link.href = this.root.dataset.jobUrl.replace("j000000", encodeURIComponent(this.job));
    const where = nodes.size ? `${counted(nodes.size, "node")} in ${counted(racks.size, "rack")}` : "is on no node of the map now";
    setText($("[data-map-selection-text]", chip), where);
  }

  #jobOptions() {
    const list = $("[data-map-jobs]", this.root);
    list?.replaceChildren(...this.fleet.placedJobs().map((job) => new Option(job, job)));
  }

  // Pointer

  #pointer() {
    this.stage.addEventListener("pointermove", (event) => this.#over(event));
    this.stage.addEventListener("pointerleave", () => this.#leave());
    this.canvas.addEventListener("click", (event) => {
      const hit = this.layout?.hit(event.offsetX, event.offsetY);
      if (hit && event.shiftKey && hit.node >= 0) this.#select(this.fleet.jobName(hit.node));
      else if (hit) this.#open(hit.rack);
      else this.#clear();
    });
  }

  #over(event) {
    if (!this.layout || event.target !== this.canvas) return;
    const hit = this.layout.hit(event.offsetX, event.offsetY);
    this.canvas.classList.toggle("is-link", Boolean(hit));
    if (!hit) {
      this.#leave();
      return;
    }
    this.hovered = { hit, x: event.offsetX, y: event.offsetY };
    this.card.show(this.fleet, hit, event.offsetX, event.offsetY);
    this.painter.glow(hit.node < 0 ? -1 : this.fleet.nodeJob[hit.node]);
    this.#frame(this.hoverBox, hit.node < 0 ? this.layout.racks[hit.rack] : this.#cellBox(hit));
  }

  #leave() {
    this.hovered = null;
    this.painter.glow(-1);
    this.card.hide();
    this.hoverBox.hidden = true;
  }

  #cellBox({ rack, node }) {
    return { ...this.layout.cellAt(rack, node), ...{ width: this.layout.cell.width, height: this.layout.cell.height } };
  }

  #frame(box, { x, y, width, height }) {
    box.hidden = false;
    Object.assign(box.style, { transform: `translate(${x}px, ${y}px)`, width: `${width}px`, height: `${height}px` });
  }

  // Keyboard

  #keyboard() {
    this.stage.addEventListener("keydown", (event) => {
      if (!this.layout) return;
      if (ARROWS.has(event.key)) {
        event.preventDefault();
        this.#moveCursor(this.cursor < 0 ? 0 : this.layout.neighbour(this.cursor, event.key));
      } else if (event.key === "Enter" && this.cursor >= 0) {
        this.#open(this.cursor);
      } else if (event.key === "Escape") {
        this.#clear();
      }
    });
    this.stage.addEventListener("focus", () => this.#moveCursor(Math.max(0, this.cursor)));
    this.stage.addEventListener("blur", () => (this.cursorBox.hidden = true));
  }

  #moveCursor(rack, { quiet = false } = {}) {
    this.cursor = rack;
    if (rack < 0 || document.activeElement !== this.stage) {
      this.cursorBox.hidden = true;
      return;
    }
    this.#frame(this.cursorBox, this.layout.racks[rack]);
    this.cursorBox.scrollIntoView({ block: "nearest" });
    if (!quiet) this.say(this.#rackText(rack));
  }

  #rackText(rack) {
    const summary = this.fleet.rackSummary(rack);
    const parts = summary.use.flatMap((count, code) => (count ? [`${count} ${this.palette.use[code].label.toLowerCase()}`] : []));
    const state = this.palette.rack.find(({ value }) => value === this.fleet.rackState(rack)).label.toLowerCase();
    return `Rack ${this.fleet.racks[rack].name}, ${state}, ${summary.count} nodes: ${parts.join(", ")}.`;
  }

  /** One line for screen readers. */
  say(text) {
    setText(this.line, text);
  }

  #clear() {
    this.legend.clear();
    this.picked = null;
    this.#select("");
  }

  // Controls above the map

  #controls() {
    this.root.addEventListener("change", (event) => {
      const { name, value } = event.target;
      if (name === "map-by") {
        this.painter.by = value;
        remember("by", value === "use" ? "" : value);
        this.#relight();
      } else if (name === "map-view") {
        this.stage.hidden = value !== "map";
        this.table.show(value === "table");
        if (value === "map") this.relayout();
      } else if (event.target.matches("[data-map-job]")) {
        this.#select(value.trim());
      }
    });
    $("[data-map-job]", this.root)?.addEventListener("focus", () => this.#jobOptions());
    $("[data-map-clear]", this.root).addEventListener("click", () => this.#clear());
  }
}

/** Keeps a choice in the address, so that what is seen can be shared. */
function remember(name, value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
  if (url.href !== location.href) history.replaceState(null, "", url);
}

export function resolvedTheme() {
  const choice = document.documentElement.dataset.theme;
  if (choice === "light" || choice === "dark") return choice;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
