// The ledger's filters, the dialog that shows what stands behind a number, and the provenance. All texts
// are set as text; a page's data is gzipped JSON in base64, and is never run.
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

  // To some digits; whole numbers whole.
  const number = (value, digits = 4) => {
    if (value === null || value === undefined) return "";
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits)));
  };
  const signed = (value) =>
    value === null || value === undefined ? "" : (value > 0 ? "+" : "") + number(value);
  const column = (place) => place.slice(place.indexOf("/") + 1);
  const row = (place) => place.slice(0, place.indexOf("/"));
  const own = (of, key) => (Object.hasOwn(of, key) ? of[key] : undefined);

  // What the page's address names behind #; nothing where it is no text.
  const named = () => {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  };

  const bytesOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

  async function data() {
    const block = document.getElementById("data");
    if (!block) return null;
    const stream = new Blob([bytesOf(block.textContent)]).stream();
    const page = await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
    if (page.tests) {
      const record = (values) =>
        Object.fromEntries(page.tests.names.map((name, at) => [name, values[at] ?? undefined]));
      page.tests = page.tests.rows.map(record);
    }
    return page;
  }

  // Filters: the page's address keeps them, so that a view can be sent to somebody.
  function filters() {
    const form = document.querySelector("form.filters");
    if (!form || !document.getElementById("ledger")) return;
    const rows = [...document.querySelectorAll("#ledger tbody tr")];
    const status = document.getElementById("shown");
    const fields = [...form.elements].filter((field) => field.name);

    function apply() {
      const chosen = fields.filter((field) => field.value.trim());
      let kept = 0;
      for (const line of rows) {
        const fits = chosen.every((field) =>
          field.name === "text"
            ? line.textContent.toLowerCase().includes(field.value.trim().toLowerCase())
            : line.dataset[field.name] === field.value,
        );
        line.hidden = !fits;
        kept += fits;
      }
      status.textContent = `${kept} of ${rows.length} rows`;
      return new URLSearchParams(chosen.map((field) => [field.name, field.value]));
    }

    function keep() {
      const query = apply().toString();
      history.replaceState(null, "", query ? `#${query}` : location.pathname + location.search);
    }

    function restore() {
      if (location.hash && !location.hash.includes("=")) return; // a place on the page, no filter
      const query = new URLSearchParams(location.hash.slice(1));
      for (const field of fields) field.value = query.get(field.name) || "";
      apply();
    }

    form.addEventListener("input", keep);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(keep));
    window.addEventListener("hashchange", restore);
    restore();
    if (!status.textContent) apply();
  }

  function facts(pairs) {
    const list = element("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value) list.append(element("dt", {}, name), element("dd", {}, value));
    }
    return list;
  }

  // A grid without the columns in which nothing stands; `figures` are its columns of numbers.
  function table(caption, header, lines, figures = []) {
    const kept = header.map((_, at) => lines.some((line) => line[at] !== ""));
    const right = new Set(figures.map((at) => header[at]));
    const cell = (name, text, at, more = {}) =>
      element(name, { class: right.has(header[at]) ? "figure" : null, ...more }, text);
    const head = element("tr");
    header.forEach((text, at) => kept[at] && head.append(cell("th", text, at, { scope: "col" })));
    const body = element("tbody");
    for (const line of lines) {
      const made = element("tr");
      line.forEach((text, at) => kept[at] && made.append(cell("td", text, at)));
      body.append(made);
    }
    const grid = element("table", {}, element("caption", {}, caption), element("thead", {}, head), body);
    return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, grid);
  }

  const interval = (low, high, form = number) =>
    low === undefined || high === undefined ? "" : `${form(low)} to ${form(high)}`;

  function valueFacts(page, cell) {
    const several = cell.seeds && cell.seeds.length > 1;
    const spread = cell.std === undefined ? "" : `; standard deviation ${number(cell.std, 3)}`;
    const counted = cell.n === undefined ? "" : `${cell.n}${cell.split ? ` of ${cell.split}` : ""}`;
    return facts([
      ["measured", cell.measured === undefined ? page.reasons[cell.absence] : number(cell.measured, 6)],
      ["reported", cell.reported],
      ["95% interval", cell.interval && interval(...cell.interval)],
      ["per seed", several && cell.seeds.map((value) => number(value, 6)).join(", ") + spread],
      ["change from", cell.change_from && (own(page.labels, cell.change_from) || cell.change_from)],
      ["measure", cell.measure],
      ["queries", counted],
      ["answered", (cell.counts || []).join("; ")],
    ]);
  }

  function verdicts(page, cell) {
    if (!cell.verdicts) return null;
    const lines = cell.verdicts.map((one) => {
      const again = one.same ? ` (as before: ${one.same})` : "";
      return [one.claim, one.verdict, one.holm || "", (page.reasons[one.reason] || "") + again];
    });
    return table("What the paper prints here, and the verdicts", ["claim", "verdict", "under Holm", "why"], lines);
  }

  // The tests of a number, each from its own side; those of a sentence as they are.
  function testsOf(page, place) {
    if (page.claims) return page.tests.filter((test) => test.family === place);
    const turned = (test) => ({
      ...test, a: test.b, b: test.a, difference: -test.difference, effect: test.effect && -test.effect,
      low: test.high === undefined ? undefined : -test.high,
      high: test.low === undefined ? undefined : -test.low,
      wins: test.losses, losses: test.wins,
    });
    return page.tests
      .filter((test) => test.column === column(place) && [test.a, test.b].includes(row(place)))
      .map((test) => (test.a === row(place) ? test : turned(test)));
  }

  function tests(page, cell, listed, draw) {
    if (!listed.length) return null;
    const label = (name) => own(page.labels, name) || name;
    const linked = (test, name) => {
      const place = `${name}/${test.column}`;
      if (!(cell.places || []).includes(place)) return label(name);
      return element("a", { href: `${cell.rests}.html#${encodeURI(place)}` }, label(name));
    };
    const seeds = listed.every((test) => test.over_seeds);
    const over = (test) => (test.over_seeds && !seeds ? " (seeds too)" : "");
    const lines = listed.map((test) => {
      let name = label(test.b);
      if (page.claims) {
        name = element("span", {}, linked(test, test.a), " and ", linked(test, test.b), `, ${test.column}`);
      } else if (page.values[`${test.a}/${test.column}`] && page.values[`${test.b}/${test.column}`]) {
        name = element("button", { type: "button", "aria-label": `Differences per query from ${name}` }, name);
        name.addEventListener("click", () => draw(test));
      }
      const counts = test.wins === undefined ? "" : [test.wins, test.ties, test.losses].join("/");
      return [
        name, signed(test.difference), interval(test.low, test.high, signed) + over(test), number(test.p, 3),
        number(test.p_adjusted, 3), test.significant ? "yes" : "no", number(test.p_over_seeds, 3),
        test.seeds_agreeing || "", signed(test.effect), counts,
      ];
    });
    const header = [
      page.claims ? "first and second" : "against", "difference",
      seeds ? "95% interval, seeds too" : "95% interval", "p", "p adjusted", "significant",
      "p over seeds", "seeds agreeing", "effect size", "wins/ties/losses",
    ];
    return table(`Tests over queries: ${listed[0].how}`, header, lines, [1, 2, 3, 4, 6, 8, 9]);
  }

  // Values per query, in the order of their set: 16-bit integers times the page's step.
  function values(page, place) {
    const packed = own(page.values, place);
    if (!packed) return null;
    const bytes = bytesOf(packed.data);
    const whole = new DataView(bytes.buffer);
    const of = (at) => Number((whole.getInt16(2 * at, true) * page.step).toFixed(4));
    return { set: page.sets[packed.queries], queries: packed.queries, list: Array.from({ length: bytes.length / 2 }, (_, at) => of(at)) };
  }

  // The picture of one number per query, or of its difference from another row's.
  function picture(page, place, other, test) {
    const first = values(page, place);
    const second = other && values(page, `${other}/${column(place)}`);
    if (!first || (other && (!second || second.queries !== first.queries))) return null;
    const points = first.list.map((value, at) => ({
      query: first.set.ids[at], text: first.set.texts[at] || "", own: value, at,
      other: second ? second.list[at] : null,
      value: second ? Number((value - second.list[at]).toFixed(4)) : value,
    }));
    points.sort((a, b) => b.value - a.value || a.at - b.at);
    const label = (name) => own(page.labels, name) || name;
    const names = [label(row(place)), other ? label(other) : null];
    const title = second ? `${names[0]} less ${names[1]}, per query, sorted` : `${names[0]}, per query, sorted`;
    const count = (sign) => points.filter((point) => Math.sign(point.value) === sign).length;
    const [wins, ties, losses] = test && test.wins !== undefined
      ? [test.wins, test.ties, test.losses] : [count(1), count(0), count(-1)];
    const summary = second
      ? `${names[0]} is above ${names[1]} in ${wins} queries, equal in ${ties}, below in ${losses}.`
      : `${points.length} queries; ${count(0)} have 0.`;
    const figure = element("figure", { class: "chart" }, element("figcaption", {}, title));
    figure.append(window.charts.bars(points, names, `${title}. ${summary}`));
    figure.append(element("p", { class: "quiet" }, summary));
    const worst = [...points].sort((a, b) => a.value - b.value || a.at - b.at).slice(0, 5);
    const line = (point) => [
      point.query, point.text, number(point.own), ...(second ? [number(point.other), signed(point.value)] : []),
    ];
    const header = ["query", "text", names[0], ...(second ? [names[1], "difference"] : [])];
    return element(
      "div", { id: "picture" }, figure,
      table("Best queries", header, points.slice(0, 5).map(line), [2, 3, 4]),
      table("Worst queries", header, worst.map(line), [2, 3, 4]),
    );
  }

  function provenance(page, cell) {
    const order = [];
    const ahead = [...(cell.from || [])];
    while (ahead.length) {
      const key = ahead.shift();
      if (order.includes(key) || !own(page.provenance || {}, key)) continue;
      order.push(key);
      ahead.push(...page.provenance[key].slice(1));
    }
    if (!order.length) return null;
    const list = element("ol");
    for (const key of order) {
      list.append(element("li", {}, element("a", { href: `provenance.html#${key}` }, page.provenance[key][0])));
    }
    const text = `What it was made from: ${order.length} artefacts, each with its command`;
    const made = element("details", {}, element("summary", {}, text), list);
    made.open = order.length <= 12;
    return made;
  }

  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

  function numbers(page) {
    const dialog = document.querySelector("dialog");
    if (!page || !page.cells || !dialog) return;
    let place = null;
    let opened = false; // by a link of this page, which Back undoes

    function show() {
      const cell = page.cells[place];
      const listed = testsOf(page, place);
      const drawn = (test) => picture(page, place, test ? test.b : cell.change_from, test);
      const draw = (test) => {
        const made = drawn(test);
        dialog.querySelector("#picture").replaceWith(made);
        window.charts.fit(made);
        made.scrollIntoView({ block: "nearest" });
      };
      const close = element("button", { type: "button" }, "Close");
      close.addEventListener("click", () => dialog.close());
      const text = page.claims
        ? cell.header : `${own(page.labels, row(place)) || row(place)}: ${cell.header || column(place)}`;
      const body = [
        element("div", { class: "top" }, element("h2", { id: "about" }, text), close),
        page.claims ? null : valueFacts(page, cell), verdicts(page, cell), tests(page, cell, listed, draw),
        page.claims ? null : drawn(listed[0]) || drawn(null), provenance(page, cell),
      ];
      if (cell.rests) {
        body.push(element("p", {}, "It rests on ", element("a", { href: `${cell.rests}.html` }, cell.rests), "."));
      }
      if (cell.address) {
        const command = `residuum explain ${quoted(cell.address)} --results ${quoted(page.results)}`;
        body.push(element("p", { class: "quiet" }, "All of it, as text:"), element("pre", {}, command));
      }
      dialog.replaceChildren(...body.filter(Boolean));
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
      window.charts.fit(dialog);
    }

    function follow() {
      const at = named();
      if (own(page.cells, at)) {
        place = at;
        show();
      } else if (dialog.open) {
        opened = false;
        dialog.close();
      }
    }

    document.addEventListener("click", (event) => {
      if (event.target.closest("a.number")) opened = true;
    });
    dialog.addEventListener("close", () => {
      const link = document.querySelector(`[id="${CSS.escape(place)}"] a.number`);
      const refocus = () => link && link.focus();
      if (opened) {
        // Back takes a moment: a number that is opened before it is done would be closed by it
        window.addEventListener("hashchange", refocus, { once: true });
        history.back();
      } else {
        if (own(page.cells, named())) history.replaceState(null, "", location.pathname + location.search);
        refocus();
      }
      opened = false;
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
      const key = named();
      const one = own(page.artefacts, key);
      if (!one) return;
      const children = every.filter(([, other]) => (other.parents || []).includes(key)).map(([name]) => name);
      const stated = Object.entries(one.facts || {}).map(([label, text]) => [label || "facts", text]);
      const body = [
        element("h2", {}, one.title), one.lacks && element("p", {}, one.lacks),
        one.command && element("pre", {}, one.command),
        facts([...stated, ["code", one.code], ["made from", links(one.parents || [])], ["made from it", links(children)]]),
      ];
      place.replaceChildren(...body.filter(Boolean));
      place.focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    }

    const field = document.querySelector("form.filters input");
    const status = document.getElementById("shown");
    const filter = () => {
      const text = field.value.trim().toLowerCase();
      let kept = 0;
      for (const item of list.children) {
        item.hidden = !item.textContent.toLowerCase().includes(text);
        kept += !item.hidden;
      }
      status.textContent = `${kept} of ${every.length} artefacts`;
    };
    field.addEventListener("input", filter);
    field.form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", show);
    filter();
    show();
  }

  // Paper cannot be clicked: it has all notes.
  window.addEventListener("beforeprint", () => {
    for (const notes of document.querySelectorAll("details.notes")) notes.open = true;
  });

  document.addEventListener("DOMContentLoaded", async () => {
    filters();
    const page = await data();
    if (window.charts && page && page.charts) window.charts.all(page.charts);
    numbers(page);
    artefacts(page);
    document.documentElement.dataset.ready = "yes";
  });
  return { element, number, signed, table };
})();
