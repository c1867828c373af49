/** A form that came back with errors: the first wrong field is focused, and the links of the summary lead to theirs, out of folds too. */

import { $, $$ } from "./dom.js";

function show(field) {
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  field.focus();
}

export function formErrors() {
  const first = $('[aria-invalid="true"]');
  if (first) show(first);
  for (const link of $$("[data-error-link]")) {
    link.addEventListener("click", (event) => {
      const field = document.getElementById(link.hash.slice(1));
      if (!field) return;
      event.preventDefault();
      show(field);
    });
  }
}
