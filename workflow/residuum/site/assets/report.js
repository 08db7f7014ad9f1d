// The ledger's filters, and the dialog that shows what stands behind a number. All texts are set as
// text; data lies in the page as JSON and is never run.
"use strict";

const report = (() => {
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };

  const number = (value, digits = 4) =>
    value === null || value === undefined ? "" : String(Number(value.toPrecision(digits)));
  const signed = (value) =>
    value === null || value === undefined ? "" : (value > 0 ? "+" : "") + number(value);

  // A page's data is gzipped JSON, in base64.
  const bytesOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const data = async () => {
    const block = document.getElementById("data");
    if (!block) return null;
    const stream = new Blob([bytesOf(block.textContent)]).stream();
    const page = await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
    if (page.tests) {
      const named = (row) => Object.fromEntries(page.tests.names.map((name, at) => [name, row[at] ?? undefined]));
      page.tests = page.tests.rows.map(named);
    }
    return page;
  };

  // Filters: the page's address keeps them, so that a view can be sent to somebody.
  function filters() {
    const form = document.querySelector("form.filters");
    if (!form || !document.getElementById("ledger")) return;
    const rows = [...document.querySelectorAll("#ledger tbody tr")];
    const said = document.getElementById("shown");
    const fields = [...form.elements].filter((field) => field.name);

    function apply() {
      const chosen = fields.filter((field) => field.value.trim());
      let kept = 0;
      for (const row of rows) {
        const fits = chosen.every((field) =>
          field.name === "text"
            ? row.textContent.toLowerCase().includes(field.value.trim().toLowerCase())
            : row.dataset[field.name] === field.value,
        );
        row.hidden = !fits;
        kept += fits;
      }
      said.textContent = `${kept} of ${rows.length} rows`;
      const query = new URLSearchParams(chosen.map((field) => [field.name, field.value]));
      try {
        history.replaceState(null, "", `#${query}`);
      } catch {
        // a page that may not change its own address still filters
      }
    }

    function restore() {
      const query = new URLSearchParams(location.hash.slice(1));
      for (const field of fields) field.value = query.get(field.name) || "";
      apply();
    }

    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    window.addEventListener("hashchange", restore);
    restore();
  }

  // Values of a number per query: 16-bit integers times a step.
  function unpacked(packed) {
    const bytes = bytesOf(packed.data);
    const whole = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 2 }, (_, at) =>
      Number((whole.getInt16(2 * at, true) * packed.step).toFixed(4)),
    );
  }

  const column = (place) => place.slice(place.indexOf("/") + 1);
  const row = (place) => place.slice(0, place.indexOf("/"));

  function facts(pairs) {
    const list = element("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value) list.append(element("dt", {}, name), element("dd", {}, value));
    }
    return list;
  }

  function table(caption, header, lines, figures = []) {
    const kept = header.map((_, at) => lines.some((line) => line[at] !== ""));
    figures = figures.filter((at) => kept[at]).map((at) => kept.slice(0, at).filter(Boolean).length);
    header = header.filter((_, at) => kept[at]);
    lines = lines.map((line) => line.filter((_, at) => kept[at]));
    const head = element("tr");
    header.forEach((text, at) =>
      head.append(element("th", { scope: "col", class: figures.includes(at) ? "figure" : null }, text)),
    );
    const body = element("tbody");
    for (const line of lines) {
      const made = element("tr");
      line.forEach((cell, at) =>
        made.append(element("td", { class: figures.includes(at) ? "figure" : null }, cell)),
      );
      body.append(made);
    }
    const grid = element("table", {}, element("caption", {}, caption), element("thead", {}, head), body);
    return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, grid);
  }

  function interval(low, high, form = number) {
    return low === undefined || high === undefined ? "" : `${form(low)} to ${form(high)}`;
  }

  function valueFacts(page, cell) {
    const seeds = cell.seeds && cell.seeds.length > 1 ? cell.seeds.map((v) => number(v, 6)).join(", ") : "";
    return facts([
      ["measured", cell.measured === undefined ? page.reasons[cell.absence] || "" : number(cell.measured, 6)],
      ["reported", cell.reported || ""],
      ["95% interval", interval(cell.low, cell.high)],
      ["per seed", seeds && `${seeds}${cell.std === undefined ? "" : `; standard deviation ${number(cell.std, 3)}`}`],
      ["measure", cell.measure || ""],
      ["queries", cell.n === undefined ? "" : `${cell.n}${cell.split ? ` of ${cell.split}` : ""}`],
    ]);
  }

  function verdicts(page, cell) {
    if (!cell.verdicts) return null;
    const lines = cell.verdicts.map((one) => [
      one.claim, one.verdict, one.holm || "", `${page.reasons[one.reason] || ""}${one.same ? ` (as before: ${one.same})` : ""}`,
    ]);
    return table("What the paper prints here, and the verdicts", ["claim", "verdict", "under Holm", "why"], lines);
  }

  // Each test from the side of the row that the dialog is about.
  function testsOf(page, place) {
    if (page.claims) return page.tests.filter((test) => test.family === place).map((test) => ({ test, other: null, sign: 1 }));
    return page.tests
      .filter((test) => test.column === column(place) && [test.a, test.b].includes(row(place)))
      .map((test) => ({ test, other: test.a === row(place) ? test.b : test.a, sign: test.a === row(place) ? 1 : -1 }));
  }

  function tests(page, place, draw) {
    const own = testsOf(page, place);
    if (!own.length) return null;
    const lines = own.map(({ test, other, sign }) => {
      const ends = [test.low, test.high].map((end) => (end === undefined ? undefined : sign * end));
      if (sign < 0) ends.reverse();
      const label = other === null ? `${test.a} against ${test.b}, ${test.column}` : page.labels[other] || other;
      const pictured = other !== null && page.values[place] && page.values[`${other}/${column(place)}`];
      const name = pictured
        ? element("button", { type: "button", "aria-label": `Differences per query from ${label}` }, label)
        : label;
      if (pictured) name.addEventListener("click", () => draw(other));
      const counts = [test.wins, test.ties, test.losses];
      if (sign < 0) counts.reverse();
      return [
        name, signed(sign * test.difference), interval(ends[0], ends[1], signed), number(test.p, 3),
        number(test.p_adjusted, 3), test.significant ? "yes" : "no", number(test.p_over_seeds, 3),
        test.seeds_agreeing || "", test.effect === undefined ? "" : signed(sign * test.effect), counts.join("/"),
      ];
    });
    const header = [
      "against", "difference", "95% interval", "p", "p adjusted", "significant", "p over seeds",
      "seeds agreeing", "effect size", "wins/ties/losses",
    ];
    return table(`Tests: ${page.tested}`, header, lines, [1, 2, 3, 4, 6, 8, 9]);
  }

  // The picture of one number per query, or of its difference from another row's.
  function picture(page, place, other) {
    const packed = page.values[place];
    if (!packed) return null;
    const set = page.sets[packed.queries];
    const own = unpacked(packed);
    const against = other === null ? null : page.values[`${other}/${column(place)}`];
    if (other !== null && (!against || against.queries !== packed.queries)) return null;
    const others = against ? unpacked(against) : null;
    const points = own.map((value, at) => ({
      query: set.ids[at],
      text: set.texts[at] || "",
      own: value,
      other: others ? others[at] : null,
      value: others ? Number((value - others[at]).toFixed(4)) : value,
      at,
    }));
    points.sort((a, b) => b.value - a.value || a.at - b.at);
    const names = [page.labels[row(place)] || row(place), other === null ? null : page.labels[other] || other];
    const title = others
      ? `${names[0]} less ${names[1]}, per query, sorted`
      : `${names[0]}, per query, sorted`;
    const counted = [1, 0, -1].map((sign) => points.filter((p) => Math.sign(p.value) === sign).length);
    const summary = others
      ? `${names[0]} is above ${names[1]} in ${counted[0]} queries, equal in ${counted[1]}, below in ${counted[2]}.`
      : `${points.length} queries; ${points.filter((p) => p.value === 0).length} have 0.`;
    const figure = element("figure", { class: "chart" }, element("figcaption", {}, title));
    if (window.charts) figure.append(window.charts.bars(points, names, `${title}. ${summary}`));
    figure.append(element("p", { class: "quiet" }, summary));
    const worst = [...points].sort((a, b) => a.value - b.value || a.at - b.at).slice(0, 5);
    const line = (p) => [p.query, p.text, number(p.own), ...(others ? [number(p.other), signed(p.value)] : [])];
    const header = ["query", "text", names[0], ...(others ? [names[1], "difference"] : [])];
    return element(
      "div", { id: "picture" }, figure,
      table("Best queries", header, points.slice(0, 5).map(line), [2, 3, 4]),
      table("Worst queries", header, worst.map(line), [2, 3, 4]),
    );
  }

  function lineage(page, cell) {
    const reached = new Set();
    const order = [];
    const ahead = [...(cell.from || [])];
    while (ahead.length) {
      const key = ahead.shift();
      if (reached.has(key) || !page.lineage[key]) continue;
      reached.add(key);
      order.push(key);
      ahead.push(...page.lineage[key].slice(1));
    }
    if (!order.length) return null;
    const list = element("ol");
    for (const key of order) {
      list.append(element("li", {}, element("a", { href: `lineage.html#${key}` }, page.lineage[key][0])));
    }
    const shown = element("details", {}, element("summary", {}, `What it descends from: ${order.length} artefacts, each with its command`), list);
    shown.open = order.length <= 12;
    return shown;
  }

  function cells(page) {
    const dialog = document.querySelector("dialog");
    if (!page || !page.cells || !dialog) return;
    let before = null;

    function show(place) {
      const cell = page.cells[place];
      const draw = (other) => {
        const made = picture(page, place, other);
        const old = dialog.querySelector("#picture");
        if (old) old.replaceWith(made);
        made.scrollIntoView({ block: "nearest" });
      };
      const close = element("button", { type: "button" }, "Close");
      close.addEventListener("click", () => dialog.close());
      const label = page.claims ? cell.header : `${page.labels[row(place)] || row(place)}: ${cell.header || column(place)}`;
      const heading = element("h2", { id: "about" }, label);
      const first = page.claims ? null : testsOf(page, place).find(({ other }) => other !== null && page.values[`${other}/${column(place)}`]);
      const own = picture(page, place, first ? first.other : null) || picture(page, place, null);
      const body = [
        element("div", { class: "top" }, heading, close), valueFacts(page, cell), verdicts(page, cell),
        tests(page, place, draw), own, lineage(page, cell),
      ];
      if (cell.rests) {
        body.push(element("p", {}, "It rests on ", element("a", { href: `${cell.rests}.html` }, cell.rests), "."));
      }
      if (cell.address) {
        const command = `residuum explain ${cell.address} --results ${page.results}`;
        body.push(element("p", { class: "quiet" }, "All of it, as text:"), element("pre", {}, command));
      }
      dialog.replaceChildren(...body.filter(Boolean));
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
      if (window.charts) window.charts.fit(dialog);
    }

    function follow() {
      const place = decodeURIComponent(location.hash.slice(1));
      if (page.cells[place]) show(place);
      else if (dialog.open) dialog.close();
    }

    document.addEventListener("click", (event) => {
      const link = event.target.closest("a.number");
      if (link) before = link;
    });
    dialog.addEventListener("close", () => {
      if (location.hash) history.replaceState(null, "", location.pathname + location.search);
      if (before) before.focus();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    window.addEventListener("hashchange", follow);
    follow();
  }

  // One artefact at a time, named by the page's address, and a list of all.
  function artefacts(page) {
    const place = document.getElementById("artefact");
    const list = document.getElementById("artefacts");
    if (!page || !page.artefacts || !place) return;
    const every = Object.entries(page.artefacts);
    const link = (key) => element("a", { href: `#${key}` }, page.artefacts[key].title);
    const links = (keys) => {
      const made = element("span");
      keys.forEach((key, at) => made.append(at ? ", " : "", link(key)));
      return keys.length ? made : "";
    };
    for (const [key] of every) list.append(element("li", {}, link(key)));

    function show() {
      const key = location.hash.slice(1);
      const own = page.artefacts[key];
      if (!own) return place.replaceChildren();
      const children = every.filter(([, other]) => (other.parents || []).includes(key)).map(([name]) => name);
      const body = [element("h2", {}, own.title)];
      if (own.lacks) body.push(element("p", {}, own.lacks));
      if (own.command) body.push(element("pre", {}, own.command));
      const facts_of = Object.entries(own.facts || {}).map(([label, text]) => [label || "facts", text]);
      body.push(facts([...facts_of, ["code", own.code], ["made from", links(own.parents || [])], ["made from it", links(children)]]));
      place.replaceChildren(...body);
      place.focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    }

    const field = document.querySelector("form.filters input");
    const said = document.getElementById("shown");
    const filter = () => {
      const text = field.value.trim().toLowerCase();
      let kept = 0;
      for (const item of list.children) {
        item.hidden = !item.textContent.toLowerCase().includes(text);
        kept += !item.hidden;
      }
      said.textContent = `${kept} of ${every.length} artefacts`;
    };
    field.addEventListener("input", filter);
    field.form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", show);
    filter();
    show();
  }

  document.addEventListener("DOMContentLoaded", async () => {
    filters();
    const page = await data();
    cells(page);
    artefacts(page);
    if (window.charts && page && page.charts) window.charts.all(page.charts);
    document.documentElement.dataset.ready = "yes";
  });
  return { element, number, signed };
})();
