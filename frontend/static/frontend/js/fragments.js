/**
 * Parts of a page that the server draws again when something they show has changed.
 *
 * An element with `data-live-fragment="URL"` says what it shows: `data-live-jobs="j000123 j000124"` or `any`,
 * `data-live-nodes="36-53"` (node indices), or `data-live-any` for every frame. It is fetched at most once in
 * `data-live-every` seconds (1), never while the page is hidden, and replaced only where its markup differs.
 * One with `data-live-load` is fetched as soon as it is there. One inside another, with an id, outlives the other's replacement.
 */

import { $$, request } from "./dom.js";

class Fragment {
  constructor(element) {
    const { liveFragment, liveJobs, liveNodes, liveAny, liveEvery } = element.dataset;
    this.element = element;
    this.url = liveFragment;
    this.jobs = liveJobs === undefined ? null : new Set(liveJobs.split(/\s+/));
    this.nodes = liveNodes === undefined ? null : liveNodes.split("-").map(Number);
    this.any = liveAny !== undefined;
    this.every = Math.max(1, Number(liveEvery) || 1) * 1000;
    this.text = null;
  }

  concerns(frame) {
    if (this.any) return true;
    if (this.jobs?.has("any") && frame.jobs?.length) return true;
    if (this.jobs && frame.jobs?.some((job) => this.jobs.has(job))) return true;
    if (!this.nodes) return false;
    const [first, last] = this.nodes;
    return frame.nodes?.some(([node]) => node >= first && node <= last);
  }

  /** Fetches soon; calls until then are one call. */
  refresh() {
    if (document.hidden) this.late = true;
    else this.timer ??= setTimeout(() => this.#fetch(), this.every);
  }

  /** Fetches at once. */
  load() {
    if (document.hidden) this.late = true;
    else this.timer ??= setTimeout(() => this.#fetch(), 0);
  }

  wake() {
    if (this.late) this.refresh();
    this.late = false;
  }

  async #fetch() {
    try {
      const response = await request(this.url, { headers: { "X-Requested-With": "fetch" } });
      if (response.ok) this.#replace(await response.text());
    } catch {
      this.late = true; // the network is away: the reset after the reconnect asks again
    } finally {
      this.timer = null;
    }
  }

  #replace(text) {
    if (text === this.text) return;
    this.text = text;
    const template = document.createElement("template");
    template.innerHTML = text;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.id : "";
    const opened = $$("details[id][open]", this.element).map((details) => details.id);
    for (const inner of $$("[data-live-fragment][id]", this.element)) template.content.getElementById(inner.id)?.replaceWith(inner);
    this.element.replaceChildren(template.content);
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    this.element.dispatchEvent(new CustomEvent("fragment", { bubbles: true }));
  }
}

export class Fragments {
  constructor(live) {
    this.all = [];
    this.#adopt();
    document.addEventListener("fragment", () => this.#adopt());
    live.addEventListener("delta", (event) => this.all.forEach((part) => part.concerns(event.detail) && part.refresh()));
    live.addEventListener("reset", () => this.refresh());
    document.addEventListener("visibilitychange", () => document.hidden || this.all.forEach((part) => part.wake()));
  }

  refresh() {
    this.all.forEach((part) => part.refresh());
  }

  /** Takes in the parts that have come, and forgets those that have gone. */
  #adopt() {
    const known = new Set(this.all.map((part) => part.element));
    const fresh = $$("[data-live-fragment]").filter((element) => !known.has(element)).map((element) => new Fragment(element));
    this.all = [...this.all.filter((part) => part.element.isConnected), ...fresh];
    fresh.filter((part) => part.element.dataset.liveLoad !== undefined).forEach((part) => part.load());
  }
}
