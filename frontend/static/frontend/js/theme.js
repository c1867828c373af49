/**
 * Light, dark or as the system says. A plain script in the head, not a module: the choice must stand before the
 * first paint, or the page would flash.
 */
(() => {
  "use strict";
  const KEY = "slicekeeper.theme";
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return localStorage.getItem(KEY) ?? "auto";
    } catch {
      return "auto"; // storage may be switched off: the page then follows the system
    }
  };

  const tell = () => document.dispatchEvent(new CustomEvent("themechange"));

  function apply(choice) {
    root.dataset.theme = choice in NEXT ? choice : "auto";
    const button = document.querySelector("[data-theme-toggle]");
    if (button) {
      button.setAttribute("aria-label", `Theme: ${root.dataset.theme}. Switch to ${NEXT[root.dataset.theme]}.`);
      button.title = `Theme: ${root.dataset.theme}`;
    }
  }

  apply(stored());
  system.addEventListener("change", tell);
  document.addEventListener("DOMContentLoaded", () => apply(root.dataset.theme));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const choice = NEXT[root.dataset.theme];
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // the choice then lasts as long as the page
    }
    apply(choice);
    tell();
  });
})();
