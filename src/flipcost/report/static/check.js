// The workbench: rows are answered by keyboard, kept in the page, and downloaded.
(function () {
  const about = window.flipcost.data.parts.check;
  const bench = document.getElementById("workbench");
  if (!about || !bench) return;
  const el = (name) => document.getElementById("bench-" + name);
  const rows = about.rows;
  const lines = [...el("rows").children];
  let answers = load();
  let undone = [];
  let shown = [];
  let at = 0;

  function load() {
    try {
      const kept = JSON.parse(localStorage.getItem(about.key) || "{}");
      return Object.fromEntries(Object.entries(kept).filter(([k, v]) =>
        rows[k] && ["right", "wrong", "skip"].includes(v)));
    } catch { return {}; }
  }
  function keep() {
    try { localStorage.setItem(about.key, JSON.stringify(answers)); } catch { /* not kept then */ }
  }

  // Columns that matter can be sorted by too.
  about.columns.slice(0, about.matter).forEach((name, j) => {
    const option = document.createElement("option");
    option.value = "column" + j;
    option.textContent = name;
    el("sort").append(option);
  });

  const texts = rows.map((r) =>
    [r.name, r.label, r.why, ...r.cells].join("\n").toLowerCase());
  const tests = {
    all: () => true,
    next: (k) => rows[k].next,
    suspects: (k) => !rows[k].next,
    open: (k) => !answers[k],
    done: (k) => answers[k] === "right" || answers[k] === "wrong",
    skipped: (k) => answers[k] === "skip",
    label0: (k) => lines[k].dataset.label === "0",
    label1: (k) => lines[k].dataset.label === "1",
  };
  rows.forEach((r, k) => {
    lines[k].dataset.label = el("filter").querySelector("[value=label1]").textContent
      === "labelled " + r.label ? "1" : "0";
  });
  function compare(a, b) {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && Number.isFinite(x) && Number.isFinite(y)) return x - y;
    return String(a).localeCompare(String(b));
  }
  const keys = {
    order: (k) => k,
    wrong: (k) => -rows[k].wrong,
    row: (k) => rows[k].row,
    label: (k) => rows[k].label,
  };

  function list() {
    const sought = el("search").value.trim().toLowerCase();
    const test = tests[el("filter").value] || tests.all;
    const by = el("sort").value;
    const key = keys[by] || ((k) => rows[k].cells[Number(by.slice(6))]);
    const held = shown[at];
    shown = rows.map((_, k) => k).filter((k) => test(k) && texts[k].includes(sought));
    shown.sort((a, b) => compare(key(a), key(b)) || a - b);
    const seen = new Set(shown);
    lines.forEach((line, k) => { line.hidden = !seen.has(k); });
    el("rows").append(...shown.map((k) => lines[k]));
    at = Math.max(0, shown.indexOf(held));
    show();
  }

  function show() {
    lines.forEach((line, k) => {
      line.classList.remove("at", "right", "wrong", "skip");
      if (answers[k]) line.classList.add(answers[k]);
    });
    const k = shown[at], row = rows[k];
    ["right", "wrong", "skip"].forEach((name) => { el(name).disabled = row === undefined; });
    el("undo").disabled = !undone.length;
    count();
    if (row === undefined) {
      el("name").textContent = "No row";
      el("why").textContent = "";
      el("cells").replaceChildren();
      return;
    }
    lines[k].classList.add("at");
    el("name").textContent = "Row " + row.name + ", labelled " + row.label;
    el("why").textContent = row.why;
    el("right").lastChild.textContent = " right: " + row.label;
    el("wrong").lastChild.textContent = " wrong: " + row.other;
    el("cells").replaceChildren(...about.columns.flatMap((name, j) => {
      const term = document.createElement("dt"), cell = document.createElement("dd");
      term.textContent = name;
      if (j >= about.matter) term.className = "minor";
      cell.textContent = row.cells[j];
      return [term, cell];
    }));
  }

  function count() {
    const given = Object.values(answers);
    const n = (name) => given.filter((v) => v === name).length;
    const done = n("right") + n("wrong");
    el("progress").textContent = done + " of " + rows.length + " checked: " + n("right")
      + " right, " + n("wrong") + " wrong" + (n("skip") ? "; " + n("skip") + " skipped" : "");
    el("download").disabled = !done;
    el("clear").disabled = !given.length;
  }

  function move(step) {
    at = Math.min(Math.max(at + step, 0), Math.max(shown.length - 1, 0));
    show();
    const line = lines[shown[at]];
    if (line) line.scrollIntoView({ block: "nearest" });
  }
  function answer(what) {
    const k = shown[at];
    if (k === undefined) return;
    undone.push([k, answers[k]]);
    answers[k] = what;
    keep();
    const stays = (tests[el("filter").value] || tests.all)(k);
    if (!stays) { list(); return; }
    move(1);
  }
  function undo() {
    const last = undone.pop();
    if (!last) return;
    if (last[1]) answers[last[0]] = last[1]; else delete answers[last[0]];
    keep();
    list();
    if (shown.includes(last[0])) { at = shown.indexOf(last[0]); show(); }
  }

  const quoted = (cell) => /[",\n\r]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell;
  function download() {
    const text = [about.header];
    rows.forEach((row, k) => {
      const given = answers[k];
      if (given !== "right" && given !== "wrong") return;
      const cells = row.csv.slice();
      // Guarded as the label beside it is: what a spreadsheet would run gets an apostrophe.
      const value = given === "right" ? row.label : row.other;
      cells[cells.length - 1] = /^[=+\-@\t\r\n]/.test(value) && !Number.isFinite(Number(value))
        ? "'" + value : value;
      text.push(cells);
    });
    const file = text.map((cells) => cells.map(quoted).join(",") + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file], { type: "text/csv" }));
    link.download = "checked.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  bench.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select")) {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.type === "search")) {
        bench.focus();
        event.preventDefault();
      }
      return;
    }
    const acts = {
      r: () => answer("right"), w: () => answer("wrong"), s: () => answer("skip"), z: undo,
      arrowdown: () => move(1), arrowup: () => move(-1), "/": () => el("search").focus(),
    };
    const act = acts[event.key.toLowerCase()];
    if (!act) return;
    act();
    event.preventDefault();
  });
  for (const name of ["right", "wrong", "skip"]) {
    el(name).addEventListener("click", () => answer(name));
  }
  el("undo").addEventListener("click", undo);
  el("download").addEventListener("click", download);
  el("clear").addEventListener("click", () => {
    answers = {};
    undone = [];
    keep();
    list();
  });
  for (const name of ["search", "filter", "sort"]) {
    el(name).addEventListener("input", list);
  }
  el("rows").addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line.hidden) return;
    at = shown.indexOf(Number(line.dataset.k));
    bench.focus({ preventScroll: true });
    show();
  });
  list();
})();
