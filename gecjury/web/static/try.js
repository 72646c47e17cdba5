"use strict";
(() => {
  // One more output or reference: an empty copy of the last one.
  for (const group of document.querySelectorAll("[data-group]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Another ${group.dataset.group}`;
    button.className = "another";
    button.addEventListener("click", () => {
      const all = group.querySelectorAll(".pasted");
      const made = all[all.length - 1].cloneNode(true);
      for (const field of made.querySelectorAll("input, textarea")) field.value = "";
      const label = made.querySelector("span");
      if (label.textContent.startsWith("Output")) label.textContent = `Output ${all.length + 1}`;
      all[all.length - 1].after(made);
      made.querySelector("input, textarea").focus();
      if (all.length + 1 >= 8) button.remove();
    });
    group.after(button);
  }
  const form = document.querySelector("form.score");
  if (form) {
    form.addEventListener("submit", () => {
      const status = document.getElementById("status");
      const bar = document.getElementById("bar");
      const start = Date.now();
      status.textContent = "Scoring; parsers and models are loaded the first time.";
      bar.hidden = false;
      const look = async () => {
        try {
          const answer = await fetch("/progress", { headers: { accept: "application/json" } });
          const { stage, done, total } = await answer.json();
          const steps = total ? `: ${Math.floor(done)} of ${total}` : "";
          status.textContent = `${stage}${steps}, ${Math.round((Date.now() - start) / 1000)} s`;
          if (total) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
        } catch { /* the user has left the page, or the result is about to arrive */ }
      };
      look();
      setInterval(look, 500);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }
  // A choice from a list takes effect at once.
  const filters = document.querySelector("form.filters");
  if (filters) for (const list of filters.querySelectorAll("select")) list.addEventListener("change", () => filters.requestSubmit());
})();
