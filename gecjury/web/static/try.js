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
      document.getElementById("status").textContent = "Scoring; parsers and models are loaded the first time.";
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }
})();
