/** Deep links into the list of events: `#SEQ` opens that event, and asks for the page it is on where this is another. */

import { $ } from "./dom.js";

export function eventLinks() {
  if (!$("[data-events]")) return;
  const show = () => {
    const seq = location.hash.slice(1);
    if (!/^\d{1,18}$/.test(seq)) return;
    const details = document.getElementById(`open-${seq}`);
    if (details) details.open = true;
    else if (new URLSearchParams(location.search).get("at") !== seq) location.replace(`?at=${seq}#${seq}`);
  };
  window.addEventListener("hashchange", show);
  show();
}
