/**
 * The submit form: nodes or GPUs, and the slices a request would get, as it is typed.
 *
 * The form posts as any form; this only adds the preview, from the same engine that will decide.
 */

import { $, $$, el, request, setText } from "./dom.js";

const PAUSE = 200;

export class SubmitForm {
  constructor(form) {
    this.form = form;
    this.text = $("[data-preview-text]");
    this.slices = $("[data-preview-slices]");
    this.asked = 0;
    form.addEventListener("input", () => this.#changed());
    this.#unit();
    if ($(".form-errors", form)) this.#show([], "Change what is marked, and the slices show here.", false); // what is wrong stands there already
    else this.#changed();
  }

  #changed() {
    this.#unit();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#preview(), PAUSE);
  }

  /** Shows the field of the chosen unit; the other one is not sent. */
  #unit() {
    const unit = $('input[name="unit"]:checked', this.form)?.value;
    for (const field of $$("[data-unit]", this.form)) {
      field.hidden = field.dataset.unit !== unit;
      $$("input", field).forEach((input) => (input.disabled = field.hidden));
    }
  }

  /** Whether any size is given: of the whole, of a part, or by a plan. */
  #sized() {
    return $$("input", this.form).some(({ name, value, disabled }) => value && !disabled && /^(nodes|gpus|plan_.*|part_._nodes)$/.test(name));
  }

  async #preview() {
    const asked = (this.asked += 1);
    if (!this.#sized()) {
      this.#show([], "Say how many nodes or GPUs, and the slices show here.", false);
      return;
    }
    try {
      const response = await request(this.form.dataset.previewUrl, { method: "POST", body: new FormData(this.form) });
      if (!response.ok) throw new Error(`the preview answered ${response.status}`);
      const { slices, text, wrong } = await response.json();
      if (asked === this.asked) this.#show(slices, text, wrong);
    } catch {
      if (asked === this.asked) this.#show([], "The preview needs a connection to the server.", true);
    }
  }

  #show(slices, text, wrong) {
    setText(this.text, text);
    this.text.classList.toggle("is-error", wrong);
    this.slices.replaceChildren(...slices.map((size) => this.#slice(size)));
  }

  #slice(size) {
    const trays = Array.from({ length: Math.min(size, 72) }, () => el("i"));
    return el("figure", { class: "mini-slice" }, el("div", { class: "mini-trays" }, ...trays), el("figcaption", {}, String(size)));
  }
}
