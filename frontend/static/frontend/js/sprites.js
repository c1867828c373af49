/**
 * Ready-made cells: one small picture for each look a node can have, drawn once and copied from then on.
 *
 * A look is (use, condition) when the map is coloured by use, with the hue of its job when coloured by job, and the
 * condition alone when coloured by condition. A condition that is not healthy sits on the cell as a badge with its
 * mark; a free node that its condition keeps out of work is nothing but that badge.
 */

const PER_ROW = 16;
const TINT = 0.14; // body of an outlined cell, so that it reads as a cell and not as a hole

export class Sprites {
  /** `width` and `height` in device pixels; `theme` is "light" or "dark". */
  constructor(palette, theme, width, height, line) {
    Object.assign(this, { palette, theme, width, height, line });
    this.canvas = document.createElement("canvas");
    const looks = palette.condition.length * (palette.use.length * (palette.hues.length + 1) + 1);
    this.canvas.width = PER_ROW * width;
    this.canvas.height = Math.ceil(looks / PER_ROW) * height;
    this.pen = this.canvas.getContext("2d");
    this.places = new Map();
    this.healthy = palette.condition.length - 1;
    this.out = palette.use.findIndex((state) => state.value === "out");
  }

  /**
   * Where the picture of a look is on `canvas`; `plain` is its colour where that is all there is to it. `use` is null
   * where only the condition counts, `hue` -1 where the use has its own colour.
   */
  at(use, condition, hue) {
    const { length } = this.palette.condition;
    const key = use === null ? -1 - condition : (use * (this.palette.hues.length + 1) + hue + 1) * length + condition;
    let place = this.places.get(key);
    if (!place) {
      const index = this.places.size;
      const ground = this.#ground(use, condition, hue);
      const badge = use !== null && use !== this.out && condition !== this.healthy;
      place = { x: (index % PER_ROW) * this.width, y: Math.floor(index / PER_ROW) * this.height };
      place.plain = !badge && ground.ground === "solid" && !ground.mark ? ground[this.theme] : null;
      this.places.set(key, place);
      this.#draw(place, ground, badge ? this.palette.condition[condition] : null);
    }
    return place;
  }

  /** What fills the cell: the condition, the use, or the use in the hue of its job. */
  #ground(use, condition, hue) {
    if (use === null || (use === this.out && condition !== this.healthy)) return this.palette.condition[condition];
    return hue < 0 ? this.palette.use[use] : { ...this.palette.use[use], ...this.palette.hues[hue] };
  }

  #draw({ x, y }, ground, condition) {
    const whole = { x, y, width: this.width, height: this.height };
    this.#fill(ground, whole);
    if (!condition) return;
    const badge = { ...whole, width: Math.round(Math.max(this.width * 0.4, Math.min(this.height, this.width * 0.5))) };
    this.pen.clearRect(badge.x, badge.y, badge.width + this.line, badge.height);
    this.#fill(condition, badge);
  }

  #fill(state, box) {
    this.pen.fillStyle = state[this.theme];
    GROUNDS[state.ground](this.pen, box, this.line);
    if (state.mark) this.#mark(state, box);
  }

  #mark(state, { x, y, width, height }) {
    const pen = this.pen;
    const side = Math.min(width, height) - (Math.min(width, height) > 10 ? this.line * 2 : 0);
    const scale = side / this.palette.box;
    const open = state.ground === "hollow";
    pen.save();
    if (!open) pen.globalCompositeOperation = "destination-out";
    pen.translate(x + Math.round((width - side) / 2), y + Math.round((height - side) / 2));
    pen.scale(scale, scale);
    pen.fill(new Path2D(state.mark), "evenodd");
    pen.restore();
  }
}

function outline(pen, { x, y, width, height }, line) {
  pen.save();
  pen.globalAlpha = TINT;
  pen.fillRect(x, y, width, height);
  pen.restore();
  pen.fillRect(x, y, width, line);
  pen.fillRect(x, y + height - line, width, line);
  pen.fillRect(x, y, line, height);
  pen.fillRect(x + width - line, y, line, height);
}

const GROUNDS = {
  solid: (pen, { x, y, width, height }) => pen.fillRect(x, y, width, height),
  hollow: outline,
  half(pen, box, line) {
    outline(pen, box, line);
    const half = Math.floor(box.height / 2);
    pen.fillRect(box.x, box.y + half, box.width, box.height - half);
  },
  split(pen, { x, y, width, height }, line) {
    const parts = width >= 8 * line ? 4 : 2;
    for (let part = 0; part < parts; part += 1) {
      const from = Math.round((part * (width + line)) / parts);
      const to = Math.round(((part + 1) * (width + line)) / parts) - line;
      pen.fillRect(x + from, y, to - from, height);
    }
  },
  hatch(pen, { x, y, width, height }, line) {
    const step = Math.max(4 * line, Math.round(height / 2));
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width, height);
    pen.clip();
    pen.beginPath();
    for (let from = -height; from < width; from += step) {
      const stripe = step * 0.6;
      pen.moveTo(x + from, y + height);
      pen.lineTo(x + from + height, y);
      pen.lineTo(x + from + height + stripe, y);
      pen.lineTo(x + from + stripe, y + height);
    }
    pen.fill();
    pen.restore();
  },
  faint(pen, { x, y, width, height }, line) {
    const arm = Math.max(line, Math.round(Math.min(width, height) / 3));
    for (const [cx, dx] of [[x, 0], [x + width, -1]]) {
      for (const [cy, dy] of [[y, 0], [y + height, -1]]) {
        pen.fillRect(cx + dx * arm, cy + dy * line, arm, line);
        pen.fillRect(cx + dx * line, cy + dy * arm, line, arm);
      }
    }
  },
};
