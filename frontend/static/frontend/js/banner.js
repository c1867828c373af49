/** Says whether what is on the page is live: a dot in the header always, a banner while it is not. */

import { $, setText } from "./dom.js";

const PATIENCE = 2_500; // a blink of the network is not worth a banner
const WORDS = { connecting: "Connecting", live: "Live", reconnecting: "Reconnecting", "signed-out": "Signed out", gone: "Gone" };
const LAST = "This page shows the last state it saw";

export class Banner {
  constructor(live) {
    this.dot = $("[data-live-status]");
    this.banner = $("[data-live-banner]");
    this.since = null;
    live.addEventListener("status", (event) => this.#show(event.detail));
    $("[data-live-retry]")?.addEventListener("click", () => live.retry());
  }

  #show(status) {
    this.dot.dataset.liveStatus = status;
    setText($("[data-live-word]", this.dot), WORDS[status]);
    clearInterval(this.timer);
    if (status === "live") {
      this.since = null;
      this.banner.hidden = true;
      document.body.classList.remove("is-stale");
      return;
    }
    this.since ??= Date.now();
    this.timer = setInterval(() => this.#tick(status), 1000);
    this.#tick(status);
  }

  #tick(status) {
    const away = Date.now() - this.since;
    if (status === "reconnecting" && away < PATIENCE) return;
    this.banner.hidden = false;
    this.banner.dataset.liveBanner = status;
    document.body.classList.add("is-stale");
    const text = {
      reconnecting: `No connection for ${Math.round(away / 1000)} s. ${LAST}; trying again.`,
      "signed-out": `You are signed out. ${LAST}.`,
      gone: `This cluster was removed. ${LAST}.`,
    }[status];
    setText($("[data-live-message]", this.banner), text);
  }
}
