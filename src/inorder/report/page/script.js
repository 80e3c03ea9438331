"use strict";
(() => {
  const count = (value) => value.toLocaleString("en");

  // The theme: that of the system, light or dark. It is kept if the browser lets a file keep anything.
  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  const setTheme = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    button.textContent = "Theme: " + name;
    try { localStorage.setItem("inorder-theme", name); } catch { /* not allowed here */ }
  };
  if (button) {
    let theme = "system";
    try { theme = localStorage.getItem("inorder-theme") || "system"; } catch { /* not allowed here */ }
    setTheme(themes.includes(theme) ? theme : "system");
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      setTheme(theme);
    });
  }

  // What the markup cannot do alone. A page that replaces a part of the markup says so with an event.
  const enhance = (root) => {
    const report = JSON.parse(document.getElementById("report").textContent);

    // Commands to copy.
    for (const copy of root.querySelectorAll("button.copy")) {
      const text = copy.previousElementSibling.textContent;
      copy.hidden = false;
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text);
          copy.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(copy.previousElementSibling);
          copy.textContent = "Selected";
        }
        setTimeout(() => { copy.textContent = "Copy"; }, 1500);
      });
    }

    // What scrolls can be scrolled by keys.
    const scrolling = [...root.querySelectorAll(".table, .workers, pre")];
    const makeFocusable = () => {
      for (const box of scrolling) {
        const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
        if (scrolls) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
    };
    makeFocusable();
    addEventListener("resize", makeFocusable);
    for (const details of root.querySelectorAll("details")) details.addEventListener("toggle", makeFocusable);

    // Tables: a filter, and pages.
    for (const box of root.querySelectorAll(".table")) {
      const rows = [...box.querySelectorAll("tbody tr")];
      const size = Number(box.dataset.rows);
      if (rows.length <= size) continue;
      const name = box.querySelector("caption").firstChild.textContent;
      const bar = document.createElement("div");
      bar.className = "pager";
      const make = (kind, text) => {
        const element = document.createElement(kind);
        if (text) element.textContent = text;
        bar.append(element);
        return element;
      };
      const filter = make("input");
      filter.type = "search";
      filter.placeholder = "Filter";
      filter.setAttribute("aria-label", "Filter: " + name);
      const back = make("button", "Previous");
      const forth = make("button", "Next");
      for (const each of [back, forth]) {
        each.type = "button";
        each.setAttribute("aria-label", each.textContent + " page: " + name);
      }
      const status = make("span");
      status.setAttribute("role", "status");
      const texts = rows.map((row) => row.textContent.toLowerCase());
      let page = 0;
      const show = () => {
        const wanted = filter.value.toLowerCase();
        const found = rows.filter((_, place) => texts[place].includes(wanted));
        const last = Math.max(0, Math.ceil(found.length / size) - 1);
        page = Math.min(Math.max(page, 0), last);
        const shown = new Set(found.slice(page * size, (page + 1) * size));
        for (const row of rows) row.hidden = !shown.has(row);
        const first = found.length ? page * size + 1 : 0;
        status.textContent = count(first) + " to " + count(Math.min(found.length, (page + 1) * size)) + " of " + count(found.length);
        back.disabled = page === 0;
        forth.disabled = page === last;
      };
      filter.addEventListener("input", () => { page = 0; show(); });
      back.addEventListener("click", () => { page -= 1; show(); });
      forth.addEventListener("click", () => { page += 1; show(); });
      box.before(bar);
      show();
    }

    // Plots over time: a cursor with the values below it, by pointer and by arrow keys.
    const bytes = (value) => {
      const units = ["bytes", "kB", "MB", "GB", "TB"];
      let place = 0;
      while (value >= 1000 && place < units.length - 1) { value /= 1000; place += 1; }
      return (place ? value.toFixed(1) : String(value)) + " " + units[place];
    };
    const moment = (ms) => ms < 1000 ? Math.round(ms) + " ms" : ms < 120000 ? (ms / 1000).toFixed(1) + " s" : (ms / 60000).toFixed(1) + " min";
    const readings = {
      fronts: (series, at) => count(series.computed[at]) + " computed, " + count(series.committed[at]) + " committed, " + count(series.active_workers[at]) + " workers busy",
      lag: (series, at) => count(series.computed[at] - series.committed[at]) + " items ahead of the commits",
      buffered: (series, at) => bytes(series.buffered_bytes[at]) + " buffered, " + bytes(series.resident_bytes[at]) + " resident",
    };
    for (const plot of root.querySelectorAll("svg.plot[data-plot*=':']")) {
      const [runId, kind] = plot.dataset.plot.split(":");
      const run = report.runs.find((each) => each.run_id === runId);
      const series = run.series;
      const cursor = plot.querySelector(".cursor");
      const readout = plot.parentElement.querySelector(".readout");
      let at = series.at_ms.length - 1;
      const show = () => {
        const x = 100 * series.at_ms[at] / Number(plot.dataset.xMax) + "%";
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
        cursor.style.visibility = "visible";
        readout.textContent = "At " + moment(series.at_ms[at]) + ": " + readings[kind](series, at) + ".";
      };
      const hide = () => { cursor.style.visibility = "hidden"; readout.textContent = ""; };
      plot.addEventListener("pointermove", (event) => {
        const box = plot.getBoundingClientRect();
        const wanted = Number(plot.dataset.xMax) * (event.clientX - box.left) / box.width;
        const later = series.at_ms.findIndex((each) => each >= wanted);
        at = later < 0 ? series.at_ms.length - 1 : later;
        show();
      });
      plot.addEventListener("pointerleave", hide);
      plot.addEventListener("blur", hide);
      plot.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        at = Math.min(series.at_ms.length - 1, Math.max(0, at + step));
        show();
      });
    }
  };

  enhance(document);
  document.addEventListener("report-replaced", (event) => enhance(event.target));
})();
