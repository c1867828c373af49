/**
 * Where everything is on the map: blocks flow in rows, a rack is a column of cells, a cell is one node.
 *
 * Pure arithmetic in CSS pixels. A rack of more nodes than a column holds gets more columns; a block of more
 * racks than the map is wide wraps inside itself. Of all cell sizes that fit the window the largest wins; if none
 * fits, the smallest readable one does and the page grows downwards, never sideways.
 */

const COLUMN = 20; // most cells in one column of a rack: 18 of an NVL72 and some air
const GAP = { cell: 1, rack: 4, block: 18, row: 14, pad: 2 };
const LABEL = { block: 18, rack: 14 };
const SMALL = { width: 6, height: 4 }; // below this, marks cannot be told apart
const LARGE = { width: 30, height: 12 };
const RATIO = 3.6; // a tray is wider than high, but not a line

/** Columns and rows of cells in a rack of `count` nodes. */
export function rackGrid(count) {
  const columns = Math.max(1, Math.ceil(count / COLUMN));
  return { columns, rows: Math.ceil(count / columns) || 1 };
}

function rackSize(count, size) {
  const { columns, rows } = rackGrid(count);
  const inner = (cells, length) => cells * (length + GAP.cell) - GAP.cell;
  return {
    columns,
    rows,
    width: inner(columns, size.width) + 2 * GAP.pad,
    height: inner(rows, size.height) + 2 * GAP.pad,
  };
}

/** The racks of one block in rows of at most `width`, relative to the block's corner. */
function packBlock(racks, members, width, size) {
  const label = size.labels ? LABEL.rack : 0;
  const places = [];
  let [x, y, high, wide] = [0, 0, 0, 0];
  for (const rack of members) {
    const box = rackSize(racks[rack].count, size);
    if (x > 0 && x + box.width > width) {
      y += high + label + GAP.rack;
      x = high = 0;
    }
    places.push({ rack, x, y, ...box });
    wide = Math.max(wide, x + box.width);
    high = Math.max(high, box.height);
    x += box.width + GAP.rack;
  }
  return { places, width: wide, height: y + high + label };
}

/** Blocks in rows: each row knows its blocks and its height. */
function flow(fleet, width, size) {
  const rows = [];
  let x = Infinity;
  fleet.members.forEach((members, block) => {
    if (!members.length) return;
    const box = packBlock(fleet.racks, members, width, size);
    if (x + box.width > width) {
      rows.push({ blocks: [], height: 0, used: 0 });
      x = 0;
    }
    const row = rows[rows.length - 1];
    row.blocks.push({ block, x, ...box });
    row.height = Math.max(row.height, box.height + LABEL.block);
    row.used = x + box.width;
    x += box.width + GAP.block;
  });
  const height = rows.reduce((sum, row) => sum + row.height, 0) + Math.max(0, rows.length - 1) * GAP.row;
  return { rows, height, width: rows.reduce((most, row) => Math.max(most, row.used), 0) };
}

function* sizes() {
  for (let height = LARGE.height; height >= SMALL.height; height -= 1) {
    const most = Math.min(LARGE.width, Math.floor(height * RATIO));
    for (let width = most; width >= Math.max(SMALL.width, height); width -= 1) {
      yield { width, height, labels: width >= 12 || height >= 9 };
    }
  }
}

/** The size with the largest cells that fits width and height, and how the blocks flow then. */
function choose(fleet, width, height) {
  let best = null;
  for (const size of sizes()) {
    const area = size.width * size.height;
    if (best && area <= best.area) continue;
    const flowed = flow(fleet, width, size);
    if (flowed.width <= width && flowed.height <= height) best = { ...flowed, size, area };
  }
  if (best) return best;
  const size = { ...SMALL, labels: false };
  return { ...flow(fleet, width, size), size };
}

/** Spread what a full row leaves over between its blocks, the same in every row. */
function blockShift(rows, width) {
  const full = rows.filter((row) => row.blocks.length > 1);
  if (rows.length < 2 || !full.length) return 0;
  const most = Math.max(...full.map((row) => row.blocks.length));
  const spare = Math.min(...full.filter((row) => row.blocks.length === most).map((row) => width - row.used));
  return Math.floor(spare / (most - 1));
}

export class Layout {
  /** `fleet` has `blocks` and `racks` as the snapshot gives them. */
  constructor({ blocks, racks }, width, height) {
    const members = blocks.map(() => []);
    racks.forEach((rack, index) => members[rack.block].push(index));
    const chosen = choose({ racks, members }, width, height);
    this.cell = chosen.size;
    this.width = width;
    this.height = Math.ceil(chosen.height);
    this.racks = new Array(racks.length);
    this.blocks = [];
    this.bands = []; // horizontal bands of racks, for hit tests and the arrow keys
    this.#place(racks, chosen.rows, blockShift(chosen.rows, width));
  }

  #place(racks, rows, shift) {
    let top = 0;
    for (const row of rows) {
      const bands = new Map();
      row.blocks.forEach((block, position) => {
        const x = block.x + position * shift;
        this.blocks.push({ block: block.block, x, y: top, width: block.width, height: block.height + LABEL.block });
        for (const place of block.places) {
          const rack = { ...place, x: x + place.x, y: top + LABEL.block + place.y, first: racks[place.rack].first };
          rack.count = racks[place.rack].count;
          this.racks[place.rack] = rack;
          if (!bands.has(rack.y)) bands.set(rack.y, { y: rack.y, height: 0, racks: [] });
          const band = bands.get(rack.y);
          band.racks.push(rack);
          band.height = Math.max(band.height, rack.height);
        }
      });
      this.bands.push(...[...bands.values()].sort((a, b) => a.y - b.y));
      top += row.height + GAP.row;
    }
  }

  /** Corner of a node's cell; racks fill column by column. */
  cellAt(rack, node) {
    const place = this.racks[rack];
    const offset = node - place.first;
    return {
      x: place.x + GAP.pad + Math.floor(offset / place.rows) * (this.cell.width + GAP.cell),
      y: place.y + GAP.pad + (offset % place.rows) * (this.cell.height + GAP.cell),
    };
  }

  /** The rack and the node at a point; node -1 where the rack has none there, null off every rack. */
  hit(x, y) {
    const band = this.bands.find((row) => y >= row.y && y < row.y + row.height);
    const place = band?.racks.find((rack) => x >= rack.x && x < rack.x + rack.width);
    if (!place || y >= place.y + place.height) return null;
    const column = Math.floor((x - place.x - GAP.pad) / (this.cell.width + GAP.cell));
    const row = Math.floor((y - place.y - GAP.pad) / (this.cell.height + GAP.cell));
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
