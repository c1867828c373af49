/** Small helpers for the document; text is always set as text, never as markup. */

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties or attributes and children (nodes or text). */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (key === "class") node.className = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** The shape of a state from the page's sprite. */
export function glyph(kind, value) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `glyph ${kind}-${value}`);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${kind}-${value}`);
  svg.append(use);
  return svg;
}

/** Data that the page carries in a JSON script element. */
export function pageData(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

const groups = new Intl.NumberFormat("en");
export const grouped = (number) => groups.format(number);

/** "1 rack", "2 racks". */
export const counted = (number, what) => `${grouped(number)} ${what}${number === 1 ? "" : "s"}`;

/** Set text only where it differs, so that an unchanged page is not laid out again. */
export function setText(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** fetch with the session, and without following a redirect to the login page. */
export const request = (url, options = {}) =>
  fetch(url, { credentials: "same-origin", redirect: "manual", ...options });

/** True where an answer says that the session is over. */
export const signedOut = (response) =>
  response.type === "opaqueredirect" || response.status === 401 || response.status === 403;
