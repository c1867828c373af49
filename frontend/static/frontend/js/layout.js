/**
 * Where everything is on the map: blocks flow in rows, a rack is a column of cells, a cell is one node.
 *
 * Pure arithmetic in CSS pixels. A rack of more nodes than a column holds gets more columns; a block of more
 * racks than the map is wide wraps inside itself. Of all cell sizes that fit the window the largest wins; if none
 * fits, the smallest readable one does and the page grows downwards, never sideways.
 */

const COLUMN = 20; // most cells in one column of a rack: 18 of an NVL72 and some air
const CELL_GAP = 1;
const ROOMY = { rack: 4, block: 20, row: 14, pad: 2, blockLabel: 18, rackLabel: 13 };
const TIGHT = { rack: 3, block: 12, row: 8, pad: 1, blockLabel: 16, rackLabel: 13 };
const SMALL = { width: 6, height: 4 }; // below this, a cell cannot be told from its neighbours
const LEGIBLE = 6; // height from which marks can be told apart: worth a second screen, not a third
const LARGE = { width: 48, height: 18 };
const RATIO = 3.2; // a tray is wider than high, but not a line
const SCREENS = 2;
const MOST_SHIFT = 28; // more air than this between blocks tears a row apart

/** Columns and rows of cells in a rack of `count` nodes. */
export function rackGrid(count) {
  const columns = Math.max(1, Math.ceil(count / COLUMN));
  return { columns, rows: Math.ceil(count / columns) || 1 };
}

function rackSize(count, size) {
  const { columns, rows } = rackGrid(count);
  const inner = (cells, length) => cells * (length + CELL_GAP) - CELL_GAP;
  return {
    columns,
    rows,
    width: inner(columns, size.width) + 2 * size.gap.pad,
    height: inner(rows, size.height) + 2 * size.gap.pad,
  };
}

/** A cell size and what goes with it; racks are named one by one only where a name has room. */
const sized = (width, height, labelWidth) => {
  const gap = height >= LEGIBLE ? ROOMY : TIGHT;
  return { width, height, gap, labels: width + 2 * gap.pad >= labelWidth };
};

/** Racks of these counts in rows of at most `width`, relative to the block's corner. */
function packBlock(counts, width, size) {
  const label = size.labels ? size.gap.rackLabel : 0;
  const places = [];
  let [x, y, high, wide] = [0, 0, 0, 0];
  for (const count of counts) {
    const box = rackSize(count, size);
    if (x > 0 && x + box.width > width) {
      y += high + label + size.gap.rack;
      x = high = 0;
    }
    places.push({ x, y, count, ...box });
    wide = Math.max(wide, x + box.width);
    high = Math.max(high, box.height);
    x += box.width + size.gap.rack;
  }
  return { places, width: wide, height: y + high + label };
}

/** Blocks in rows: each row knows its blocks and its height. Blocks of the same racks are packed once. */
function flow(fleet, width, size) {
  const packed = new Map();
  const rows = [];
  let x = Infinity;
  for (const block of fleet.blocks) {
    if (!packed.has(block.shape)) packed.set(block.shape, packBlock(block.counts, width, size));
    const box = packed.get(block.shape);
    if (x + box.width > width) {
      rows.push({ blocks: [], height: 0, used: 0 });
      x = 0;
    }
    const row = rows[rows.length - 1];
    row.blocks.push({ block, x, box });
    row.height = Math.max(row.height, box.height + size.gap.blockLabel);
    row.used = x + box.width;
    x += box.width + size.gap.block;
  }
  const height = rows.reduce((sum, row) => sum + row.height, 0) + Math.max(0, rows.length - 1) * size.gap.row;
  return { rows, height, width: rows.reduce((most, row) => Math.max(most, row.used), 0) };
}

/** The blocks that have racks, with the indices and node counts of these. */
function grouped(blocks, racks) {
  const members = blocks.map((_, index) => ({ index, racks: [], counts: [] }));
  racks.forEach((rack, index) => {
    members[rack.block].racks.push(index);
    members[rack.block].counts.push(rack.count);
  });
  return members.filter((block) => block.racks.length).map((block) => ({ ...block, shape: block.counts.join() }));
}

/** The size with the largest cells, at least `least` high, whose map is no higher than `height`; or null. */
function largest(fleet, width, height, least) {
  let best = null;
  for (let high = LARGE.height; high >= least; high -= 1) {
    const most = Math.min(LARGE.width, Math.floor(high * RATIO));
    for (let wide = most; wide >= Math.max(SMALL.width, high); wide -= 1) {
      if (best && wide * high <= best.area) break;
      const size = sized(wide, high, fleet.labelWidth);
      const flowed = flow(fleet, width, size);
      if (flowed.width <= width && flowed.height <= height) best = { ...flowed, size, area: wide * high };
    }
  }
  return best;
}

/** One window if marks stay legible, else two, else cells as small as they may be, as wide as the same height allows. */
function choose(fleet, width, height) {
  const legible = largest(fleet, width, height, LEGIBLE) ?? largest(fleet, width, SCREENS * height, LEGIBLE);
  if (legible) return legible;
  const size = sized(SMALL.width, SMALL.height, fleet.labelWidth);
  const smallest = { ...flow(fleet, width, size), size };
  return largest(fleet, width, smallest.height, SMALL.height) ?? smallest;
}

/** Spread what a full row leaves over between its blocks, the same in every row. */
function blockShift(rows, width) {
  const full = rows.filter((row) => row.blocks.length > 1);
  if (rows.length < 2 || !full.length) return 0;
  const most = Math.max(...full.map((row) => row.blocks.length));
  const spare = Math.min(...full.filter((row) => row.blocks.length === most).map((row) => width - row.used));
  return Math.min(MOST_SHIFT, Math.floor(spare / (most - 1)));
}

export class Layout {
  /** `blocks` and `racks` as the snapshot gives them; `labelWidth` is what the shortest form of a rack's name takes. */
  constructor({ blocks, racks }, width, height, labelWidth) {
    const chosen = choose({ blocks: grouped(blocks, racks), labelWidth }, width, height);
    this.cell = chosen.size;
    this.width = width;
    this.height = Math.ceil(chosen.height);
    this.racks = new Array(racks.length);
    this.blocks = [];
    this.bands = []; // horizontal bands of racks, for hit tests and the arrow keys
    this.#place(racks, chosen.rows, blockShift(chosen.rows, width));
  }

  #place(racks, rows, shift) {
    const { gap } = this.cell;
    let top = 0;
    for (const row of rows) {
      const bands = new Map();
      row.blocks.forEach(({ block, x, box }, position) => {
        const left = x + position * shift;
        const [first, last] = [block.racks[0], block.racks[block.racks.length - 1]];
        this.blocks.push({ block: block.index, x: left, y: top, width: box.width, first, last });
        block.racks.forEach((rack, index) => {
          const at = box.places[index];
          const place = { ...at, rack, first: racks[rack].first, x: left + at.x, y: top + gap.blockLabel + at.y };
          this.racks[rack] = place;
          if (!bands.has(place.y)) bands.set(place.y, { y: place.y, height: 0, racks: [] });
          const band = bands.get(place.y);
          band.racks.push(place);
          band.height = Math.max(band.height, place.height);
        });
      });
      this.bands.push(...[...bands.values()].sort((a, b) => a.y - b.y));
      top += row.height + gap.row;
    }
  }

  /** Corner of a node's cell; racks fill column by column. */
  cellAt(rack, node) {
    const place = this.racks[rack];
    const offset = node - place.first;
    return {
      x: place.x + this.cell.gap.pad + Math.floor(offset / place.rows) * (this.cell.width + CELL_GAP),
      y: place.y + this.cell.gap.pad + (offset % place.rows) * (this.cell.height + CELL_GAP),
    };
  }

  /** The rack and the node at a point; node -1 where the rack has none there, null off every rack. */
  hit(x, y) {
    const band = this.bands.find((row) => y >= row.y && y < row.y + row.height);
    const place = band?.racks.find((rack) => x >= rack.x && x < rack.x + rack.width);
    if (!place || y >= place.y + place.height) return null;
    const column = Math.floor((x - place.x - this.cell.gap.pad) / (this.cell.width + CELL_GAP));
    const row = Math.floor((y - place.y - this.cell.gap.pad) / (this.cell.height + CELL_GAP));
    const offset = column * place.rows + row;
    const inside = column >= 0 && row >= 0 && row < place.rows && offset < place.count;
    return { rack: place.rack, node: inside ? place.first + offset : -1 };
  }

  /** The rack reached from one by an arrow key, or the same at the edge. */
  neighbour(rack, key) {
    const order = this.bands.flatMap((band) => band.racks);
    const place = this.racks[rack];
    if (key === "Home") return order[0].rack;
    if (key === "End") return order[order.length - 1].rack;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const step = order.indexOf(place) + (key === "ArrowLeft" ? -1 : 1);
      return (order[step] ?? place).rack;
    }
    const band = this.bands.findIndex((row) => row.racks.includes(place)) + (key === "ArrowUp" ? -1 : 1);
    const others = this.bands[band]?.racks ?? [place];
    const middle = place.x + place.width / 2;
    const distance = (other) => Math.abs(other.x + other.width / 2 - middle);
    return others.reduce((near, other) => (distance(other) < distance(near) ? other : near)).rack;
  }
}
