"use strict";
(() => {
  const filters = document.querySelector("form.filters");
  if (filters) for (const list of filters.querySelectorAll("select")) list.addEventListener("change", () => filters.requestSubmit());
  const cards = [...document.querySelectorAll(".reply")];
  const go = (step) => {
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    const card = cards[Math.min(Math.max(at + step, 0), cards.length - 1)];
    if (!card) return;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.matches("input, select")) {
      if (event.key === "Escape") go(0);
      return;
    }
    const key = event.key.toLowerCase();
    const link = /^[a-z]$/.test(key) && document.querySelector(`a[data-key="${key}"]`);
    const card = cards.find((one) => one === document.activeElement);
    if (key === "j") go(1);
    else if (key === "k") go(-1);
    else if (link) link.click();
    else if (key === "enter" && card) location.assign(card.dataset.address);
    else if (key === "/" && filters) filters.elements.q.focus();
    else return;
    event.preventDefault();
  });
  // Files are still being read: reload, unless the user is choosing filters or reading.
  const idle = () => scrollY < 50 && !document.querySelector("details[open]") && !(filters && filters.contains(document.activeElement));
  if (document.getElementById("reading")) setInterval(() => { if (idle()) location.reload(); }, 3000);
})();
