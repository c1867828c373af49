/** The map as a table, for readers who cannot or do not want to use the picture: one row a rack, as live. */

import { el, grouped, setText } from "./dom.js";

/** Free nodes by what they are kept for: with those in use they are all nodes of the rack. */
const FREE = { Reserved: "reserved", Spare: "spare", Idle: "idle", Stranded: "stranded", Out: "out" };
const NUMBERS = ["Nodes", "In use", ...Object.keys(FREE), "Not healthy"];
const COLUMNS = ["Rack", "Block", "State", ...NUMBERS, "Jobs"];

export class RackTable {
  constructor(host, palette, rackUrl) {
    this.host = host;
    this.labels = new Map(palette.rack.map((state) => [state.value, state.label]));
    this.rackUrl = rackUrl;
    this.rows = [];
    this.dirty = new Set();
  }

  get shown() {
    return !this.host.hidden;
  }

  reset(fleet) {
    this.fleet = fleet;
    this.rows = [];
    if (this.shown) this.#build();
  }

  show(shown) {
    this.host.hidden = !shown;
    if (shown && this.fleet) this.#build();
  }

  change(nodes) {
    this.#write(new Set(nodes.map((node) => this.fleet.rackOf[node])));
  }

  /** Racks take other work than before. */
  states() {
    this.#write(this.rows.keys());
  }

  #write(racks) {
    if (!this.shown || !this.rows.length) return;
    for (const rack of racks) this.#cells(rack).forEach((text, column) => setText(this.rows[rack][column], text));
  }

  #build() {
    const head = el("tr", {}, ...COLUMNS.map((name, column) => el("th", { scope: "col", class: NUMBERS.includes(name) && "num" }, name)));
    const body = el("tbody", {}, ...this.fleet.racks.map((rack, index) => this.#row(rack, index)));
    this.host.replaceChildren(el("table", { class: "table" }, el("caption", { class: "visually-hidden" }, "Racks"), el("thead", {}, head), body));
  }

  #row(rack, index) {
    const cells = this.#cells(index).map((text, column) => el("td", { class: NUMBERS.includes(COLUMNS[column + 1]) && "num" }, text));
    this.rows[index] = cells;
    const link = el("a", { href: this.rackUrl(rack.name) }, rack.name);
    return el("tr", {}, el("th", { scope: "row" }, link), ...cells);
  }

  #cells(index) {
    const { fleet } = this;
    const { count, use, condition, jobs } = fleet.rackSummary(index);
    const of = (name) => use[fleet.uses.indexOf(name)];
    const busy = ["external", "stopping", "allocated", "lent", "shared"].reduce((sum, name) => sum + of(name), 0);
    const numbers = [count, busy, ...Object.values(FREE).map(of), count - condition[fleet.healthy]];
    return [fleet.blocks[fleet.racks[index].block], this.labels.get(fleet.rackState(index)), ...numbers.map(grouped), jobs.join(", ")];
  }
}
