/**
 * Puts the fleet on the canvas: everything once, then only the cells that changed.
 *
 * Cells that changed flash and fade; where motion is unwelcome, or so much changed that it would be noise, they
 * just change. All positions are rounded to device pixels, so that edges stay sharp at any zoom.
 */

import { reducedMotion } from "./dom.js";
import { Sprites } from "./sprites.js";

const FLASH = { ms: 900, most: 400, alpha: 0.85 };
const DIM = 0.14;
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
  }

  /** Takes a new fleet, layout, theme or pixel ratio, and paints all of it. */
  reset(fleet, layout, theme) {
    Object.assign(this, { fleet, layout, theme });
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
    this.rack = this.palette.rack[theme];
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
    for (const node of this.dirty) this.#paintCell(node, this.layout.cellAt(this.fleet.rackOf[node], node), now);
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
  }

  /** One changed cell: back to the rack's ground, then its picture, then what is left of its flash. */
  #paintCell(node, { x, y }, now) {
    const { pen, sprites } = this;
    const box = [this.#px(x), this.#px(y), sprites.width, sprites.height];
    pen.fillStyle = this.rack;
    pen.fillRect(...box);
    this.#stamp(node, { x, y });
    const since = this.flashes.get(node);
    if (since === undefined) return;
    const left = 1 - (now - since) / FLASH.ms;
    if (left <= 0) return;
    pen.globalAlpha = FLASH.alpha * Math.min(1, left) ** 2;
    pen.fillStyle = this.ink;
    pen.fillRect(...box);
    pen.globalAlpha = 1;
  }

  #stamp(node, { x, y }) {
    const { pen, sprites, fleet } = this;
    const at = sprites.at(this.by, fleet.use[node], fleet.condition[node]);
    const dim = this.lit && !this.lit(node);
    if (dim) pen.globalAlpha = DIM;
    const { width, height } = sprites;
    pen.drawImage(sprites.canvas, at.x, at.y, width, height, this.#px(x), this.#px(y), width, height);
    if (dim) pen.globalAlpha = 1;
  }

  #labels() {
    const { pen, layout, fleet } = this;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "left";
    pen.font = `600 ${this.#px(11)}px ${FONT}`;
    for (const block of layout.blocks) {
      const name = this.#fit(fleet.blocks[block.block], this.#px(block.width));
      pen.fillStyle = this.ink;
      pen.fillText(name, this.#px(block.x), this.#px(block.y + 11));
    }
    if (!layout.cell.labels) return;
    pen.font = `${this.#px(10)}px ${FONT}`;
    pen.textAlign = "center";
    pen.fillStyle = this.muted;
    const shorten = shortener(fleet.racks.map((rack) => rack.name));
    for (const place of layout.racks) {
      const name = shorten(fleet.racks[place.rack].name, (text) => pen.measureText(text).width <= this.#px(place.width + 3));
      if (name) pen.fillText(name, this.#px(place.x + place.width / 2), this.#px(place.y + place.height + 11));
    }
  }

  #fit(text, width) {
    if (this.pen.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && this.pen.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
    return `${cut}…`;
  }
}

/** Rack names without what they all begin with, where the whole name has no room; none rather than half a name. */
function shortener(names) {
  let common = names[0] ?? "";
  for (const name of names) {
    while (!name.startsWith(common)) common = common.slice(0, -1);
  }
  const shared = common.replace(/[0-9]+$/, "").length;
  return (name, fits) => [name, name.slice(shared)].find((text) => text && fits(text)) ?? "";
}
