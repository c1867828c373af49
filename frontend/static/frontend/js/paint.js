/**
 * Puts the fleet on the canvas: everything once, then only the cells that changed.
 *
 * Cells that changed flash and fade; where motion is unwelcome, or so much changed that it would be noise, they
 * just change. All positions are rounded to device pixels, so that edges stay sharp at any zoom.
 */

import { reducedMotion } from "./dom.js";
import { Sprites } from "./sprites.js";

const FLASH = { ms: 900, most: 400, alpha: 0.5 };
const DIM = 0.14;
const GLOW = 0.3;
const LABEL_SIZE = 10;
const FRAME = { width: 2, dash: [4, 3], halo: 2 }; // of racks that are not open, in CSS pixels
const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

export class Painter {
  constructor(canvas, palette) {
    this.canvas = canvas;
    this.palette = palette;
    this.pen = canvas.getContext("2d");
    this.by = "use";
    this.lit = null; // (node) => boolean, or null where nothing is dimmed
    this.dirty = new Set();
    this.flashes = new Map(); // node -> time of its change
    this.frame = 0;
    this.glowing = -1; // index of the job under the pointer
  }

  /** Lets all nodes of a job stand out; -1 for none. */
  glow(job) {
    if (job === this.glowing) return;
    const nodes = [this.glowing, job].flatMap((each) => [...(this.fleet.nodesOfJob.get(each) ?? [])]);
    this.glowing = job;
    this.change(nodes, { flash: false });
  }

  /** Takes a new fleet, layout, theme or pixel ratio, and paints all of it. */
  reset(fleet, layout, theme) {
    Object.assign(this, { fleet, layout, theme, glowing: -1 });
    this.ratio = Math.max(1, window.devicePixelRatio || 1);
    const [width, height] = [this.#px(layout.width), this.#px(layout.height)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.canvas.style.width = `${layout.width}px`;
    this.canvas.style.height = `${layout.height}px`;
    const { cell } = layout;
    this.sprites = new Sprites(
      this.palette, theme, this.#px(cell.width), this.#px(cell.height), Math.max(1, Math.floor(this.ratio)),
    );
    const style = getComputedStyle(this.canvas);
    this.ink = style.getPropertyValue("color");
    this.muted = style.getPropertyValue("border-top-color");
    this.rack = this.palette.ground[theme];
    this.paintAll();
  }

  paintAll() {
    const { pen } = this;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.#labels();
    this.layout.racks.forEach((place) => this.#paintRack(place));
    this.dirty.clear();
  }

  /** Marks nodes as changed; they are painted in the next frame. */
  change(nodes, { flash = true } = {}) {
    const now = performance.now();
    const glow = flash && nodes.length <= FLASH.most && !reducedMotion();
    for (const node of nodes) {
      this.dirty.add(node);
      if (glow) this.flashes.set(node, now);
    }
    this.#schedule();
  }

  #schedule() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    this.frame = 0;
    for (const [node, since] of this.flashes) {
      this.dirty.add(node);
      if (now - since > FLASH.ms) this.flashes.delete(node);
    }
    const crossed = new Set();
    for (const node of this.dirty) {
      const rack = this.fleet.rackOf[node];
      this.#paintCell(node, this.layout.cellAt(rack, node), now);
      if (this.fleet.rackState(rack) === "out") crossed.add(rack);
    }
    crossed.forEach((rack) => this.#cross(this.layout.racks[rack]));
    this.dirty.clear();
    if (this.flashes.size) this.#schedule();
  }

  #px(length) {
    return Math.round(length * this.ratio);
  }

  #paintRack(place) {
    const { pen } = this;
    pen.fillStyle = this.rack;
    pen.beginPath();
    pen.roundRect(this.#px(place.x), this.#px(place.y), this.#px(place.width), this.#px(place.height), this.#px(3));
    pen.fill();
    const end = place.first + place.count;
    for (let node = place.first; node < end; node += 1) this.#stamp(node, this.layout.cellAt(place.rack, node));
    const state = this.fleet.rackState(place.rack);
    if (state !== "open") this.#frameRack(place, state);
    if (state === "out") this.#cross(place);
  }

  /** The frame of a rack that does not take all work, beside its cells: dashed where some work may still come, else closed. */
  #frameRack({ x, y, width, height }, state) {
    const { pen } = this;
    const out = 1 - this.layout.cell.gap.pad / 2; // half of the line lies outside where the rim is narrow
    pen.save();
    pen.strokeStyle = this.#rackColour(state);
    pen.lineWidth = this.#px(FRAME.width);
    if (state === "no_new_long_jobs") pen.setLineDash(FRAME.dash.map((part) => this.#px(part)));
    pen.strokeRect(this.#px(x - out), this.#px(y - out), this.#px(width + 2 * out), this.#px(height + 2 * out));
    pen.restore();
  }

  /** Crosses out a rack that is out of service. Painting twice changes nothing. */
  #cross({ x, y, width, height }) {
    const { pen } = this;
    const [left, top, right, bottom] = [x, y, x + width, y + height].map((length) => this.#px(length));
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    for (const [colour, line] of [[this.rack, FRAME.width + 2 * FRAME.halo], [this.#rackColour("out"), FRAME.width]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = this.#px(line);
      pen.beginPath();
      pen.moveTo(left, top);
      pen.lineTo(right, bottom);
      pen.moveTo(right, top);
      pen.lineTo(left, bottom);
      pen.stroke();
    }
    pen.restore();
  }

  #rackColour(value) {
    return this.palette.rack.find((state) => state.value === value)[this.theme];
  }

  /** One changed cell: back to the rack's ground, then its picture, then what is left of its flash. */
  #paintCell(node, { x, y }, now) {
    const { pen, sprites } = this;
    pen.fillStyle = this.rack;
    pen.fillRect(this.#px(x), this.#px(y), sprites.width, sprites.height);
    this.#stamp(node, { x, y });
    const since = this.flashes.get(node);
    if (since === undefined || (this.lit && !this.lit(node))) return;
    const left = 1 - (now - since) / FLASH.ms;
    if (left <= 0) return;
    this.#wash({ x, y }, FLASH.alpha * Math.min(1, left) ** 2);
  }

  /** A veil of ink over a cell. */
  #wash({ x, y }, alpha) {
    const { pen, sprites } = this;
    pen.globalAlpha = alpha;
    pen.fillStyle = this.ink;
    pen.fillRect(this.#px(x), this.#px(y), sprites.width, sprites.height);
    pen.globalAlpha = 1;
  }

  #stamp(node, { x, y }) {
    const { pen, sprites, fleet } = this;
    const use = this.by === "condition" ? null : fleet.use[node];
    const at = sprites.at(use, fleet.condition[node], this.by === "job" ? fleet.hue(node, this.palette.hues.length) : -1);
    const dim = this.lit && !this.lit(node);
    if (dim) pen.globalAlpha = DIM;
    const { width, height } = sprites;
    if (at.plain) {
      if (pen.fillStyle !== at.plain) pen.fillStyle = at.plain;
      pen.fillRect(this.#px(x), this.#px(y), width, height);
    } else {
      pen.drawImage(sprites.canvas, at.x, at.y, width, height, this.#px(x), this.#px(y), width, height);
    }
    if (dim) pen.globalAlpha = 1;
    if (this.glowing >= 0 && fleet.nodeJob[node] === this.glowing) this.#wash({ x, y }, GLOW);
  }

  /** What the shortest form of any rack's name takes, in CSS pixels. */
  labelWidth(racks) {
    this.pen.font = `${LABEL_SIZE}px ${FONT}`;
    const shorten = shortener(racks.map((rack) => rack.name));
    const longest = racks.map((rack) => shorten.least(rack.name)).reduce((a, b) => (b.length > a.length ? b : a), "");
    return this.pen.measureText(longest).width + 1;
  }

  #labels() {
    const { pen, layout, fleet } = this;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "left";
    layout.blocks.forEach((block) => this.#blockLabel(block));
    if (!layout.cell.labels) return;
    pen.font = `${this.#px(LABEL_SIZE)}px ${FONT}`;
    pen.textAlign = "center";
    pen.fillStyle = this.muted;
    const shorten = shortener(fleet.racks.map((rack) => rack.name));
    for (const place of layout.racks) {
      const { name } = fleet.racks[place.rack];
      const text = pen.measureText(name).width <= this.#px(place.width) ? name : shorten.least(name);
      pen.fillText(text, this.#px(place.x + place.width / 2), this.#px(place.y + place.height + 11));
    }
  }

  /** A block's name and, where its racks are not named one by one, which racks it holds. */
  #blockLabel({ block, x, y, width, first, last }) {
    const { pen, fleet } = this;
    pen.font = `600 ${this.#px(11)}px ${FONT}`;
    pen.fillStyle = this.ink;
    const name = this.#fit(fleet.blocks[block], this.#px(width));
    pen.fillText(name, this.#px(x), this.#px(y + 11));
    if (this.layout.cell.labels) return;
    const from = pen.measureText(name).width + this.#px(6);
    const range = first === last ? fleet.racks[first].name : `${fleet.racks[first].name} – ${fleet.racks[last].name}`;
    pen.font = `${this.#px(LABEL_SIZE)}px ${FONT}`;
    pen.fillStyle = this.muted;
    if (from + pen.measureText(range).width <= this.#px(width)) pen.fillText(range, this.#px(x) + from, this.#px(y + 11));
  }

  #fit(text, width) {
    if (this.pen.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && this.pen.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
    return `${cut}…`;
  }
}

/** Rack names without what they all begin with, up to where the numbers start. */
function shortener(names) {
  let common = names[0] ?? "";
  for (const name of names) {
    while (!name.startsWith(common)) common = common.slice(0, -1);
  }
  const shared = names.length > 1 ? common.replace(/[0-9]+$/, "").length : 0;
  return { least: (name) => name.slice(shared) || name };
}
