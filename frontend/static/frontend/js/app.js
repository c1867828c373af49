/** Entry of every page: joins what the page has to the live stream of its cluster. */

import { Actions } from "./actions.js";
import { Banner } from "./banner.js";
import { pageClocks } from "./clock.js";
import { $, grouped, pageData, request, signedOut } from "./dom.js";
import { formErrors } from "./errors.js";
import { eventLinks } from "./events.js";
import { Fragments } from "./fragments.js";
import { Live } from "./live.js";
import { FleetMap } from "./map.js";
import { closingMenus } from "./menus.js";
import { FleetState } from "./state.js";
import { SubmitForm } from "./submit.js";

const SAY_EVERY = 10_000; // a screen reader should not be talked over

async function snapshot(url) {
  const response = await request(url);
  if (!response.ok) throw new Error(signedOut(response) ? "signed out" : `snapshot answered ${response.status}`);
  return response.json();
}

/** The map page: a fleet, its map, and a line that sums up what changed. */
class FleetPage {
  constructor(root, url) {
    this.url = url;
    this.root = root;
    const palette = pageData("palette");
    this.fleet = new FleetState(palette);
    this.map = new FleetMap(root, palette, this.fleet);
    this.unsaid = new Set();
    setInterval(() => this.#say(), SAY_EVERY);
  }

  async load() {
    this.fleet.load(await snapshot(this.url));
    this.root.classList.toggle("is-empty", this.fleet.nodes.length === 0);
    this.root.classList.remove("is-loading", "is-failed");
    this.map.reset();
    return { epoch: this.fleet.epoch, seq: this.fleet.seq };
  }

  take(frame) {
    const changed = this.fleet.apply(frame);
    this.map.change(changed);
    changed.forEach((node) => this.unsaid.add(node));
  }

  #say() {
    const { size } = this.unsaid;
    if (!size) return;
    const [first] = this.unsaid;
    const use = this.map.palette.use[this.fleet.use[first]].label.toLowerCase();
    this.map.say(size === 1 ? `${this.fleet.nodes[first]} is now ${use}.` : `${grouped(size)} nodes changed.`);
    this.unsaid.clear();
  }
}

async function follow(body) {
  const clocks = pageClocks();
  const { wsUrl, snapshotUrl, seq, epoch } = body.dataset;
  const root = $("[data-fleet-map]");
  const page = root ? new FleetPage(root, snapshotUrl) : null;
  const live = new Live({
    socketUrl: wsUrl,
    probeUrl: snapshotUrl,
    catchUp: async () => page?.load() ?? null,
    position: seq ? { seq: Number(seq), epoch } : null,
  });
  new Banner(live);
  const fragments = new Fragments(live);
  const tick = ({ clock, fleet }) => clock && clocks.forEach((each) => each.set(clock, fleet));
  live.addEventListener("delta", (event) => {
    page?.take(event.detail);
    tick(event.detail);
  });
  live.addEventListener("reset", () => page && tick(page.fleet));
  live.addEventListener("status", (event) => clocks.forEach((each) => each.hold(event.detail !== "live")));
  if (page) {
    try {
      live.position = await page.load();
      tick(page.fleet);
    } catch {
      live.position = null; // the socket's own retries say what is wrong, and catch up
      root.classList.replace("is-loading", "is-failed");
    }
  }
  const capacity = $("[data-capacity]");
  if (capacity) (await import("./capacity.js")).startCapacity(capacity, live);
  live.connect();
  return fragments;
}

const { body } = document;
const fragments = body.dataset.wsUrl ? await follow(body) : null;
closingMenus();
eventLinks();
new Actions(() => fragments?.refresh());
const form = $("[data-job-form]");
if (form) new SubmitForm(form);
formErrors();
