/**
 * The legend: every use and condition with its live count; a row lights its nodes and dims the rest.
 *
 * The rows come with the page (`data-legend-kind`, `data-legend-value`); the counts of each kind sum to all nodes.
 */

import { $, $$, grouped, setText } from "./dom.js";

export class Legend {
  /** `onPick({kind, value} | null)` is told what to light. */
  constructor(root, onPick) {
    this.rows = $$("[data-legend-value]", root);
    this.picked = null;
    root.addEventListener("click", (event) => {
      const row = event.target.closest("[data-legend-value]");
      if (!row) return;
      const same = this.picked === row;
      this.clear();
      if (!same) {
        this.picked = row;
        row.setAttribute("aria-pressed", "true");
      }
      onPick(same ? null : { kind: row.dataset.legendKind, value: row.dataset.legendValue });
    });
  }

  clear() {
    this.picked?.setAttribute("aria-pressed", "false");
    this.picked = null;
  }

  update(counts) {
    for (const row of this.rows) {
      const count = counts[row.dataset.legendKind]?.[row.dataset.legendValue] ?? 0;
      setText($("[data-legend-count]", row), grouped(count));
      row.classList.toggle("is-none", count === 0);
    }
  }
}
