/** The card beside the pointer: what is under it, in words. */

import { el, glyph } from "./dom.js";

const OFFSET = 14;

export class HoverCard {
  constructor(host, palette) {
    this.palette = palette;
    this.card = el("div", { class: "hover-card", role: "presentation", hidden: true });
    host.append(this.card);
    this.host = host;
  }

  hide() {
    this.card.hidden = true;
  }

  /** Fills the card for a node, or for a rack where `node` is -1. */
  show(fleet, { rack, node }, x, y) {
    this.card.replaceChildren(...(node < 0 ? this.#rack(fleet, rack) : this.#node(fleet, rack, node)));
    this.card.hidden = false;
    this.#place(x, y);
  }

  #node(fleet, rack, node) {
    const condition = this.palette.condition[fleet.condition[node]];
    const use = this.palette.use[fleet.use[node]];
    const job = fleet.jobName(node);
    return [
      el("strong", { class: "hover-title" }, fleet.nodes[node]),
      facts([
        ["Use", [glyph("use", use.value), use.label]],
        ["Condition", [glyph("condition", condition.value), condition.label]],
        job && ["Job", [`${job} · ${fleet.nodesOf(job).size} nodes`]],
        ["Rack", [`${fleet.racks[rack].name} · ${fleet.blocks[fleet.racks[rack].block]}`]],
        fleet.rackState(rack) !== "open" && this.#state(fleet, rack),
        ["Domain", [fleet.domains[fleet.nodeDomain[node]] ?? "none"]],
      ]),
    ];
  }

  #rack(fleet, rack) {
    const summary = fleet.rackSummary(rack);
    const counted = summary.use.flatMap((count, code) => (count ? [[this.palette.use[code], count]] : []));
    return [
      el("strong", { class: "hover-title" }, fleet.racks[rack].name),
      facts([this.#state(fleet, rack), ...counted.map(([use, count]) => [use.label, [glyph("use", use.value), String(count)]])]),
    ];
  }

  #state(fleet, rack) {
    const state = this.palette.rack.find(({ value }) => value === fleet.rackState(rack));
    return ["Rack state", [glyph("rack", state.value), state.label]];
  }

  /** Beside the pointer, on the side that has room. */
  #place(x, y) {
    const { offsetWidth: width, offsetHeight: height } = this.card;
    const { clientWidth, clientHeight } = this.host;
    const left = x + OFFSET + width > clientWidth ? Math.max(0, x - OFFSET - width) : x + OFFSET;
    const top = y + OFFSET + height > clientHeight ? Math.max(0, y - OFFSET - height) : y + OFFSET;
    this.card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}

const facts = (rows) =>
  el("dl", { class: "facts" }, ...rows.filter(Boolean).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, ...value)]));
