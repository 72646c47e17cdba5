"use strict";
(() => {
  const PAGE = 10;
  const make = (name, words, classes) => {
    const made = document.createElement(name);
    made.textContent = words;
    made.className = classes || "";
    return made;
  };

  // Tables: a button in each heading sorts; rows without a value stay last.
  const key = (row, place) => {
    const cell = row.cells[place];
    const plain = cell.dataset.v;
    if (plain === undefined) return cell.textContent.trim();
    return plain !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : plain;
  };
  const order = (a, b, down) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const way = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(b);
    return down ? -way : way;
  };
  const sortTable = (table, place, heading) => {
    const down = heading.getAttribute("aria-sort") !== "descending" && heading.classList.contains("n")
      || heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, place), row]);
    rows.sort((a, b) => order(a[0], b[0], down));
    body.append(...rows.map((pair) => pair[1]));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows].at(-1).cells;
    [...heads].forEach((heading, place) => {
      const button = make("button", heading.textContent);
      button.type = "button";
      heading.replaceChildren(button);
      button.addEventListener("click", () => sortTable(table, place, heading));
    });
  }

  // Copying: without the script the text can still be selected with one click.
  for (const text of document.querySelectorAll(".copy")) {
    const button = make("button", "Copy", "copy-button");
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    text.after(button);
  }

  // The numbers behind the page, for programs.
  const result = document.getElementById("result");
  const save = make("button", "Save the numbers (JSON)", "save");
  save.type = "button";
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([result.textContent], { type: "application/json" }));
    link.download = "comparison.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  document.getElementById("settings").append(save);

  // Sentences: filter, sort, show some at a time; the state is kept in the address.
  const browser = document.getElementById("browser");
  const controls = document.getElementById("controls");
  if (!browser || !controls) return;
  const status = document.getElementById("shown");
  const more = make("button", "Show more", "more");
  more.type = "button";
  browser.after(more);
  controls.hidden = false;
  const all = [...browser.children].map((block) => ({
    block,
    text: block.textContent.toLowerCase(),
    rows: [...block.querySelectorAll("tbody tr")].map((row) => ({
      row, systems: row.dataset.systems.split("\t"), same: row.classList.contains("same"),
    })),
  }));
  const field = (name) => controls.elements.namedItem(name);
  const NAMES = ["q", "system", "apart", "sort"];
  let limit = PAGE;

  const value = (item, name) => item.block.dataset[name] === "" ? -1 : Number(item.block.dataset[name]);
  const compare = (name) => name === "row"
    ? (a, b) => value(a, "row") - value(b, "row")
    : (a, b) => value(b, name) - value(a, name) || value(b, "d") - value(a, "d");
  const show = () => {
    const words = field("q").value.trim().toLowerCase();
    const system = field("system").value;
    const apart = field("apart").value;
    const kept = all.filter((item) => {
      for (const { row, systems } of item.rows) {
        row.classList.toggle("chosen", system !== "" && systems.includes(system));
      }
      return (!words || item.text.includes(words))
        && (!apart || item.block.dataset.apart === apart)
        && (!system || item.rows.some((row) => !row.same && row.systems.includes(system)));
    }).sort(compare(field("sort").value || "d"));
    browser.replaceChildren(...kept.slice(0, limit).map((item) => item.block));
    status.textContent = kept.length
      ? `${Math.min(limit, kept.length)} of ${kept.length} sentences`
      : "No sentence matches these filters.";
    more.hidden = kept.length <= limit;
  };
  const read = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    if (!NAMES.some((name) => state.has(name))) return;
    for (const name of NAMES) field(name).value = state.get(name) || "";
    if (!field("sort").value) field("sort").value = "d";
  };
  const changed = () => {
    limit = PAGE;
    const state = new URLSearchParams();
    for (const name of NAMES) {
      const held = field(name).value;
      if (held && !(name === "sort" && held === "d")) state.set(name, held);
    }
    history.replaceState(null, "", `#${state.size ? state : "sentences"}`);
    show();
  };
  controls.addEventListener("input", changed);
  controls.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => { limit += PAGE; show(); });
  addEventListener("hashchange", () => { read(); show(); });
  addEventListener("beforeprint", () => { limit = Math.max(limit, 50); show(); });
  read();
  show();
})();
