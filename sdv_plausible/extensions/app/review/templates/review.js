// Without this script everything works: it hides fields that do not go with a type, and warns of unsaved edits.
"use strict";
const form = document.getElementById("form");

// A field that does not go with the type is hidden, unless something is in it: what is refused must be seen.
function fit(fieldset) {
  const type = fieldset.querySelector("select[name$='-sdtype']");
  if (!type) return;
  for (const field of fieldset.querySelectorAll(".field[data-suits]")) {
    const input = field.querySelector("input, textarea, select");
    const suits = field.dataset.suits.split(" ").includes(type.value);
    field.hidden = !suits && input.value.trim() === "";
  }
}
for (const fieldset of form.querySelectorAll("fieldset")) {
  fit(fieldset);
  fieldset.addEventListener("change", () => fit(fieldset));
}

// Unfold the target of a link.
const unfold = () => {
  const there = document.getElementById(window.location.hash.slice(1));
  const folded = there && there.closest("details");
  if (folded) folded.open = true;
};
window.addEventListener("hashchange", unfold);
unfold();

let edited = document.querySelector(".refused, [data-unsaved]") !== null;
form.addEventListener("input", () => { edited = true; });
form.addEventListener("submit", (event) => {
  const leaves = event.submitter && event.submitter.id === "close";
  if (leaves && edited && !window.confirm("Close without saving your edits?")) event.preventDefault();
  else edited = false;
});
window.addEventListener("beforeunload", (event) => { if (edited) event.preventDefault(); });

// Return in a field of the plan plans; elsewhere it saves.
document.getElementById("plan")?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.tagName === "INPUT") {
    event.preventDefault();
    form.requestSubmit(document.getElementById("plan-button"));
  }
});

const told = document.getElementById("told") || document.getElementById("look-heading");
if (told) told.focus();
