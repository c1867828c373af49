/**
 * Buttons that act: ask in a dialog, post with the session's CSRF token, and say what came of it.
 *
 * A button carries `data-action-url`, `data-action-title` (the question), `data-action-text` (what will happen),
 * `data-action-verb` (the word on the confirming button), and may carry `data-action-tone="danger"` and
 * `data-action-reason` (asks for a reason, sent as `{"reason": ...}`), `data-action-method` (POST) and `data-action-form` (the id of a form whose
 * visible fields are sent, a number times its `data-scale`). Errors are RFC 9457: title and detail.
 */

import { $, el, request, setText, signedOut } from "./dom.js";

const LINGER = 8_000;

/** What the API calls for programs what people would say otherwise. */
const HEADINGS = { state: "Not possible as things are", invalid: "Not done", unavailable: "The server cannot answer now" };

export function toast(title, detail = "", tone = "good") {
  const close = el("button", { class: "toast-close", type: "button", "aria-label": "Dismiss" }, "×");
  const body = el("div", { class: "toast-body" }, el("strong", {}, title), detail && el("p", {}, detail));
  const message = el("div", { class: `toast is-${tone}` }, body, close);
  close.addEventListener("click", () => message.remove());
  $("[data-toasts]").append(message);
  if (tone === "good") setTimeout(() => message.remove(), LINGER);
}

async function problem(response) {
  if (signedOut(response) && response.status !== 403) return ["You are signed out", "Sign in again, then repeat this."];
  try {
    const { code, title, detail } = await response.json();
    return [HEADINGS[code] ?? title ?? "Not done", detail ?? ""];
  } catch {
    return ["Not done", `The server answered ${response.status} without a reason.`];
  }
}

/** What is sent of a form: the fields that can be seen and are filled in. */
function fieldsOf(id) {
  const fields = [...(document.getElementById(id)?.elements ?? [])].filter((field) => field.name && field.value !== "" && field.checkVisibility());
  const value = (field) => (field.type === "number" ? Math.round(Number(field.value) * Number(field.dataset.scale ?? 1)) : field.value);
  return Object.fromEntries(fields.map((field) => [field.name, value(field)]));
}

export class Actions {
  /** `onDone()` is called after an action was accepted. */
  constructor(onDone) {
    this.dialog = $("#confirm");
    this.onDone = onDone;
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-action-url]");
      if (button) this.#ask(button);
    });
    this.dialog?.addEventListener("close", () => this.dialog.returnValue === "yes" && this.#act());
  }

  #ask(button) {
    const { actionTitle, actionText = "", actionVerb, actionTone = "plain", actionReason } = button.dataset;
    this.button = button;
    setText($("[data-confirm-title]", this.dialog), actionTitle);
    setText($("[data-confirm-text]", this.dialog), actionText);
    const confirm = $("[data-confirm-yes]", this.dialog);
    setText(confirm, actionVerb);
    confirm.classList.toggle("is-danger", actionTone === "danger");
    $("[data-confirm-reason]", this.dialog).hidden = actionReason === undefined;
    $("[data-confirm-reason] input", this.dialog).value = "";
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  async #act() {
    const { button } = this;
    const reason = $("[data-confirm-reason] input", this.dialog).value.trim();
    button.disabled = true;
    try {
      const response = await request(button.dataset.actionUrl, {
        method: button.dataset.actionMethod ?? "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": document.body.dataset.csrf },
        body: JSON.stringify({ ...fieldsOf(button.dataset.actionForm), ...(reason && { reason }) }),
      });
      if (response.ok) {
        toast(button.dataset.actionDone ?? `${button.dataset.actionVerb}: accepted`);
        if (button.dataset.actionNext) location.assign(button.dataset.actionNext); // what the page shows is no more
        else this.onDone();
      } else {
        toast(...(await problem(response)), "bad");
      }
    } catch {
      toast("Not sent", "There is no connection to the server.", "bad");
    } finally {
      button.disabled = false;
    }
  }
}
