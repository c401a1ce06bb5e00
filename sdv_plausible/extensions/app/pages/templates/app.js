// Without this script everything works: it plans while you type, and shows the progress of a fit.
"use strict";

const budget = document.getElementById("budget");
if (budget) {
  const shown = document.getElementById("planned");
  let timer = 0, asked = 0;
  const plan = async () => {
    const mine = ++asked;
    shown.setAttribute("aria-busy", "true");
    if (shown.querySelector(".hint:only-child")) shown.firstElementChild.textContent = "Planning …";
    try {
      const answer = await fetch(budget.dataset.planned, { method: "POST", body: new URLSearchParams(new FormData(budget)) });
      const text = await answer.text();
      if (mine === asked && answer.ok) shown.innerHTML = text;  // made by our own template, which escapes
    } finally {
      if (mine === asked) shown.removeAttribute("aria-busy");
    }
  };
  for (const kind of ["input", "change"]) {
    budget.addEventListener(kind, () => { clearTimeout(timer); timer = setTimeout(plan, 500); });
  }
  if (!document.querySelector(".refused")) plan();
  // Return in a field plans: it must not spend.
  budget.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT") {
      event.preventDefault();
      budget.requestSubmit(document.getElementById("plan-button"));
    }
  });
}

const step = document.getElementById("step");
if (step) {
  const set = (id, text) => {
    const place = document.getElementById(id);
    if (place && place.textContent !== text) place.textContent = text;
  };
  const again = () => window.setTimeout(() => look().catch(again), 700);  // ask again if a response was lost
  const look = async () => {
    const found = await (await fetch(step.dataset.progress)).json();
    const bar = document.getElementById("bar");
    // Released first: a fit can end between two requests.
    if (bar && found.released) return window.location.assign("result");
    if (found.state !== "running") return window.location.reload();
    set("step", `${found.step} …`);
    set("at", found.at);
    set("elapsed", found.elapsed);
    set("charged", found.charged + (found.entries.length ? `, for ${found.entries.join(", ")}` : ""));
    if (bar) {
      bar.value = found.stage;
      document.querySelectorAll(".stages li").forEach((item, i) => {
        item.querySelector(".took").textContent = found.times[i] || "";
        item.className = i < found.stage ? "past" : i === found.stage ? "now" : "later";
      });
    }
    again();
  };
  again();
}

const told = document.getElementById("told");
if (told) told.focus();
