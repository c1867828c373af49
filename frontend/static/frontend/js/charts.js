/**
 * Plotly in the colours of the page. Its script is loaded beside this module and found as `window.Plotly`; where it is
 * missing, the chart says so and the table under it stays.
 */

import { $, el } from "./dom.js";
import { resolvedTheme } from "./map.js";

const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
// Named one by one: what Plotly offers by itself includes sending the chart to its maker.
const BUTTONS = [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { displaylogo: false, responsive: true, modeBarButtons: BUTTONS, plotlyServerURL: "" };

/** The present value of a colour of the style sheet, which may differ by theme. */
function ink(name) {
  const probe = el("span", { class: "chart-ink" });
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Of an entry of the palette: `{light, dark}`. */
export const shade = (look) => look[resolvedTheme()];

/** What all charts share. */
export function frame(extra = {}) {
  const [text, muted, line, raised] = ["text", "muted", "line", "raised"].map(ink);
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, tickfont: { color: muted, size: 11 }, automargin: true };
  const { xaxis, yaxis, ...rest } = extra;
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONT, size: 12, color: text },
    margin: { l: 56, r: 16, t: 12, b: 44 },
    hovermode: "x unified",
    hoverlabel: { bgcolor: raised, bordercolor: line, font: { color: text, size: 12 } },
    legend: { orientation: "h", x: 0, y: -0.16, yanchor: "top", font: { color: text, size: 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: text },
    xaxis: { ...axis, ...titled(xaxis, muted) },
    yaxis: { ...axis, ...titled(yaxis, muted) },
    ...rest,
  };
}

const titled = ({ title, ...rest } = {}, color) => ({ ...rest, ...(title && { title: { text: title, font: { size: 12, color }, standoff: 8 } }) });

export class Chart {
  /** `make()` gives {traces, layout} of what the chart shows now, in the colours of the theme. */
  constructor(name, make) {
    this.root = $(`[data-chart="${name}"]`);
    this.make = make;
    document.addEventListener("themechange", () => this.draw());
    this.draw();
  }

  /** Draws what there is now; calls while it draws are one more drawing. */
  async draw() {
    if (!window.Plotly) {
      this.root.classList.replace("is-loading", "is-failed");
      return;
    }
    this.again = true;
    if (this.drawing) return;
    this.drawing = true;
    try {
      while (this.again) {
        this.again = false;
        const { traces, layout } = this.make();
        await window.Plotly.react(this.root, traces, layout, CONFIG);
      }
      this.root.classList.remove("is-loading", "is-failed");
    } finally {
      this.drawing = false;
    }
  }
}
