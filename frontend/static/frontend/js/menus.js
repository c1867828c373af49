/** Menus are `details` elements: they close on a click elsewhere and on Escape. */

import { $$ } from "./dom.js";

export function closingMenus() {
  const close = (keep) => $$("details.menu[open]").forEach((menu) => menu !== keep && (menu.open = false));
  document.addEventListener("click", (event) => close(event.target.closest("details.menu")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.target.closest?.("details.menu")?.querySelector("summary")?.focus();
    close(null);
  });
}
