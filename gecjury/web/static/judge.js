"use strict";
(() => {
  const main = document.querySelector("main.judge");
  const status = document.getElementById("status");
  const form = document.querySelector("form.questions");
  const tell = (words, wrong) => {
    status.textContent = words;
    status.classList.toggle("wrong", Boolean(wrong));
  };

  // Choices that are not saved yet survive a lost connection and a reload of the page.
  const place = `gecjury ${main.dataset.as} ${main.dataset.item}`;
  const chosen = () => form.querySelectorAll("input:checked");
  const keep = () => {
    const kept = Object.fromEntries([...chosen()].map((input) => [input.name, input.value]));
    sessionStorage.setItem(place, JSON.stringify({ ...kept, comment: form.elements.comment.value, key: form.elements.key.value }));
  };
  const restore = () => {
    const kept = JSON.parse(sessionStorage.getItem(place) || "null");
    if (kept === null) return false;
    for (const [name, value] of Object.entries(kept)) {
      if (name === "comment" || name === "key") form.elements[name].value = value;
      else for (const input of form.querySelectorAll(`input[name="${name}"]`)) input.checked = input.value === value;
    }
    return true;
  };

  let sending = false;
  const send = async (target, sent) => {
    if (sending) return;
    sending = true;
    main.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(target, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(sent).toString(),
      });
      const said = await answer.json();
      if (answer.ok) {
        sessionStorage.removeItem(place);
        location.replace(said.next);
        return;
      }
      if (said.kind === "token") {
        // The program was restarted: reload the page and keep the choices.
        sessionStorage.setItem("gecjury told", "yes");
        location.reload();
        return;
      }
      tell(said.kind === "secret" ? `Not saved: ${said.error}. Your choices are kept in this window; then press Enter here.` : said.error, true);
    } catch {
      tell("Not saved: the program does not answer. Your choices are kept in this window; start the program again and press Enter.", true);
    }
    sending = false;
    main.removeAttribute("aria-busy");
  };

  const begun = performance.now();
  for (const each of document.querySelectorAll("form")) {
    each.addEventListener("submit", (event) => {
      event.preventDefault();
      const target = (event.submitter && event.submitter.getAttribute("formaction")) || each.getAttribute("action");
      if (each === form && target === "/answer") {
        const open = sets.find((set) => !set.querySelector("input:checked"));
        if (open) {
          tell(`Make a choice for ${open.querySelector(".letter").textContent.split(":")[0]} first.`, true);
          go(sets.indexOf(open));
          return;
        }
        form.elements.seconds.value = ((performance.now() - begun) / 1000).toFixed(1);
      }
      send(target, new FormData(each));
    });
  }

  // Keys.
  const sets = form ? [...form.querySelectorAll(".question")] : [];
  const current = () => sets.findIndex((set) => set.contains(document.activeElement));
  const go = (number) => {
    const set = sets[Math.min(Math.max(number, 0), sets.length - 1)];
    const input = set.querySelector("input:checked") || set.querySelector("input");
    input.focus({ preventScroll: true });
    set.scrollIntoView({ block: "nearest" });
    for (const each of sets) each.classList.toggle("current", each === set);
  };
  const choose = (digit) => {
    let at = current();
    if (at < 0) at = Math.max(sets.findIndex((set) => !set.querySelector("input:checked")), 0);
    const inputs = [...sets[at].querySelectorAll("input")];
    const wanted = main.dataset.task === "edits" ? inputs[digit - 1] : inputs.find((input) => input.value === String(digit));
    if (!wanted) return;
    wanted.checked = true;
    keep();
    tell("");
    if (at + 1 < sets.length) go(at + 1);
    else go(at);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const writing = event.target.name === "comment";
    if (writing && event.key === "Escape") {
      go(0);
      return;
    }
    if (writing) return;
    const button = document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (button) button.click();
    else if (form && /^[1-9]$/.test(event.key)) choose(Number(event.key));
    else if (form && event.key === "ArrowDown") go(current() + 1);
    else if (form && event.key === "ArrowUp") go(Math.max(current(), 1) - 1);
    else if (form && event.key.toLowerCase() === "c") form.elements.comment.focus();
    else if (form && event.key === "Enter" && !event.target.closest("button, a")) form.requestSubmit();
    else return;
    event.preventDefault();
  });
  let kept = false;
  if (form) {
    kept = restore();
    form.addEventListener("change", keep);
    form.addEventListener("input", keep);
    form.addEventListener("focusin", () => {
      for (const [at, set] of sets.entries()) set.classList.toggle("current", at === current());
    });
    go(0);
  }
  if (sessionStorage.getItem("gecjury told")) {
    sessionStorage.removeItem("gecjury told");
    tell(`The program was restarted. ${kept ? "Your choices are kept: press Enter to save them." : "The last answer was saved."}`, kept);
  }
})();
