// Charts of a page, drawn from its data with Observable Plot: hover shows values, the legend's
// buttons hide series. Colours are those of Okabe and Ito; dashes and symbols tell series apart too.
"use strict";

window.charts = (() => {
  const { element, number, signed, table } = report;
  const COLOURS = ["currentColor", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const DASHES = ["", "5 3", "7 2 2 2", "2 3", "8 2 2 2 2 2", "10 4", "1 2"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "wye", "cross"];
  // The second seven have other symbols and dashes for the same colours.
  const style = (at) => {
    const turned = (at + Math.floor(at / 7)) % 7;
    return { colour: COLOURS[at % 7], dash: DASHES[turned], symbol: SYMBOLS[turned] };
  };
  const redraws = new Set();

  function width(of) {
    return Math.max(280, Math.min(760, of.clientWidth || 600));
  }

  const place = (point) => String(point.at || (typeof point.x === "number" ? number(point.x) : point.x));

  function words(chart, series, point) {
    const lines = [series.label, `${chart.x.label}: ${place(point)}`, `${chart.y.label}: ${number(point.y)}`];
    if (point.low !== undefined) lines.push(`${point.seeds ? `${point.seeds} seeds` : "from"} ${number(point.low)} to ${number(point.high)}`);
    if (point.n !== undefined && point.n !== null) lines.push(`n = ${point.n} queries`);
    if (point.reported !== undefined) lines.push(`reported ${number(point.reported)}`);
    if (point.test) {
      const { difference, from, to, p, significant } = point.test;
      const within = from === null || to === null ? "" : `, 95% ${signed(from)} to ${signed(to)}`;
      lines.push(`against ${chart.against}: ${signed(difference)}${within}`);
      lines.push(`p adjusted ${number(p, 3)}${significant ? ", significant" : ""}`);
    }
    return lines.join("\n");
  }

  function drawn(chart, styles, hidden, wide) {
    const marks = [];
    const every = [];
    chart.series.forEach((series) => {
      if (hidden.has(series.id)) return;
      const { colour, dash, symbol } = styles.get(series.id);
      const line = series.points.map((point) => ({ ...point, title: words(chart, series, point) }));
      const points = line.filter((point) => point.y !== null);
      if (series.mark === "rule") { // a line to compare with, without points
        marks.push(Plot.lineY(line, { x: "x", y: "y", stroke: colour, strokeDasharray: dash || null, strokeWidth: 0.7 }));
        return;
      }
      every.push(...points);
      if (series.level !== undefined) {
        marks.push(Plot.ruleY([series.level], { stroke: colour, strokeDasharray: dash || null, strokeWidth: 0.7 }));
      }
      if (!series.mark) {
        marks.push(Plot.lineY(line, { x: "x", y: "y", stroke: colour, strokeDasharray: dash || null }));
      }
      const spread = points.filter((point) => point.low !== undefined);
      marks.push(Plot.ruleX(spread, { x: "x", y1: "low", y2: "high", stroke: colour }));
      if (series.mark === "sizes") { // an area grows with the queries that have these values
        const most = d3.max(points, (point) => point.n);
        const one = Math.min(3.5, 16 / Math.sqrt(most));
        const r = points.map((point) => Math.max(1.5, one * Math.sqrt(point.n)));
        marks.push(Plot.dot(points, { x: "x", y: "y", stroke: colour, fill: colour, fillOpacity: 0.35, r: { value: r, scale: null } }));
      } else {
        marks.push(Plot.dot(points, { x: "x", y: "y", stroke: colour, fill: "var(--ground)", symbol, r: 3.5 }));
      }
      const significant = points.filter((point) => point.test && point.test.significant);
      marks.push(Plot.text(significant, { x: "x", y: "y", text: () => "*", dy: -11, fill: colour }));
    });
    marks.push(Plot.tip(every, Plot.pointer({ x: "x", y: "y", title: "title" })));
    const x = { label: chart.x.label, type: chart.x.scale, ticks: chart.x.ticks };
    if (chart.x.order) x.domain = chart.x.order;
    else if (chart.x.scale === "point") x.domain = [...new Set(chart.series.flatMap((one) => one.points.map((p) => p.x)))];
    const y = { label: chart.y.label, type: chart.y.scale, nice: true };
    const plain = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
    for (const axis of [x, y]) if (axis.type === "log") axis.tickFormat = plain;
    return named(Plot.plot({
      width: wide, height: Math.max(240, wide * 0.55), marginLeft: 56, marginBottom: 44, grid: true,
      x, y, marks,
    }), chart.title);
  }

  // The numbers of a chart, for whom its picture says nothing.
  function listed(chart) {
    const lines = chart.series.flatMap((series) => [
      ...(series.level === undefined ? [] : [[series.label, series.level_label, number(series.level), "", "", "", "", ""]]),
      ...series.points.filter((point) => point.y !== null && series.mark !== "rule").map((point) => [
        series.label, place(point), number(point.y),
        point.low === undefined ? "" : `${number(point.low)} to ${number(point.high)}`,
        point.n ?? "", number(point.reported), point.test ? signed(point.test.difference) : "",
        point.test ? `${number(point.test.p, 3)}${point.test.significant ? " *" : ""}` : "",
      ]),
    ]);
    const header = ["series", chart.x.label, chart.y.label, "spread", "queries", "reported", `difference from ${chart.against}`, "p adjusted"];
    const grid = table(chart.title, header, lines.map((line) => line.map(String)), [2, 3, 4, 5, 6, 7]);
    return element("details", {}, element("summary", {}, "Numbers of this chart"), grid);
  }

  // A drawing is one image to a screen reader; what stands below it has its numbers.
  function named(drawing, label) {
    const svg = drawing.matches("svg") ? drawing : drawing.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    for (const group of svg.querySelectorAll("g[aria-label]")) {
      group.dataset.mark = group.getAttribute("aria-label");
      group.removeAttribute("aria-label");
    }
    return drawing;
  }

  function sample({ colour, dash, symbol }) {
    const mark = d3.create("svg").attr("viewBox", "0 0 32 12").attr("aria-hidden", "true");
    mark.append("line").attr("x2", 32).attr("y1", 6).attr("y2", 6).attr("stroke", colour).attr("stroke-width", 1.5).attr("stroke-dasharray", dash);
    const shapes = { circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond2: d3.symbolDiamond2, star: d3.symbolStar, wye: d3.symbolWye, cross: d3.symbolCross };
    mark.append("path").attr("d", d3.symbol(shapes[symbol], 40)()).attr("transform", "translate(16,6)").attr("fill", "var(--ground)").attr("stroke", colour);
    return mark.node();
  }

  function plotted(chart, styles) {
    const hidden = new Set();
    const legend = element("div", { class: "legend", role: "group", "aria-label": `Series of ${chart.title}` });
    const place = element("div", { class: "plot" });
    const figure = element("figure", { class: "chart" }, element("figcaption", {}, chart.title), legend, place, listed(chart));
    const draw = () => place.replaceChildren(drawn(chart, styles, hidden, width(place)));
    chart.series.forEach((series) => {
      if (!series.points.length && series.level === undefined) return;
      const note = series.level_label ? ` (thin line: ${series.level_label})` : "";
      const button = element("button", { type: "button", "aria-pressed": "true" }, sample(styles.get(series.id)), series.label + note);
      button.addEventListener("click", () => {
        const off = hidden.delete(series.id) ? false : hidden.add(series.id) && true;
        button.setAttribute("aria-pressed", String(!off));
        draw();
      });
      legend.append(button);
    });
    redraws.add({ place, draw });
    return figure;
  }

  function circles(chart) {
    const figure = element("figure", { class: "chart" }, element("figcaption", {}, chart.title));
    const half = Math.max(...chart.circles.map(({ radii: [dense, lexical], apart }) => Math.max(dense, lexical, (dense + lexical + apart) / 2)));
    const row = element("div", { class: "charts" });
    for (const { label, radii: [dense, lexical], apart, shares } of chart.circles) {
      const left = (lexical - apart - dense) / 2;
      const right = left + apart;
      const percent = (share) => d3.format(".1%")(share);
      const words = `${label}: S alone ${percent(shares[0])}, both ${percent(shares[1])}, D alone ${percent(shares[2])}, neither ${percent(shares[3])}`;
      const svg = d3.create("svg").attr("viewBox", `${-half * 1.05} ${-half * 1.05} ${half * 2.1} ${half * 2.1}`).attr("role", "img").attr("aria-label", words).attr("width", 260).attr("height", 260);
      svg.append("title").text(words);
      for (const [x, r, fill] of [[left, lexical, "#f0e442"], [right, dense, "#0072b2"]]) {
        svg.append("circle").attr("cx", x).attr("r", r).attr("fill", fill).attr("fill-opacity", 0.5).attr("stroke", "currentColor").attr("stroke-width", half / 150);
      }
      const edges = [left - lexical, right - dense, left + lexical, right + dense];
      d3.pairs(edges).forEach(([a, b], at) => {
        if (shares[at] && b - a > half / 3.5) svg.append("text").attr("x", (a + b) / 2).attr("dy", "0.35em").attr("text-anchor", "middle").attr("fill", "currentColor").attr("font-size", half / 8).text(percent(shares[at]));
      });
      row.append(element("div", {}, element("p", {}, words), svg.node()));
    }
    figure.append(row);
    return figure;
  }

  // Sorted bars of a number, or a difference, per query.
  function bars(points, names, label) {
    const place = element("div", { class: "plot" });
    const sorted = points.map((point, at) => ({
      ...point, from: at, to: at + 1,
      title: [
        `${point.query}${point.text ? `: ${point.text}` : ""}`, `${names[0]}: ${number(point.own)}`,
        ...(names[1] ? [`${names[1]}: ${number(point.other)}`, `difference ${signed(point.value)}`] : []),
      ].join("\n"),
    }));
    const draw = () => place.replaceChildren(named(Plot.plot({
      width: width(place), height: 220, marginLeft: 48,
      x: { label: "queries, sorted", domain: [0, Math.max(1, sorted.length)] }, y: { label: null, grid: true, nice: true },
      marks: [
        Plot.rectY(sorted, { x1: "from", x2: "to", y1: 0, y2: "value", fill: (p) => (p.value < 0 ? "#d55e00" : "#0072b2"), inset: 0 }),
        Plot.ruleY([0]),
        Plot.tip(sorted, Plot.pointerX({ x: (p) => (p.from + p.to) / 2, y: "value", title: "title" })),
      ],
    }), label));
    redraws.add({ place, draw });
    draw();
    return place;
  }

  // Draw again what is in the page, at its present width.
  function fit(within = document) {
    for (const one of redraws) {
      if (!one.place.isConnected) redraws.delete(one);
      else if (within.contains(one.place)) one.draw();
    }
  }

  function all(list) {
    const place = document.getElementById("charts");
    const ids = [...new Set(list.flatMap((chart) => (chart.series || []).map((series) => series.id)))];
    const styles = new Map(ids.map((id, at) => [id, style(at)])); // a series looks alike in all charts
    place.append(...list.map((chart) => (chart.circles ? circles(chart) : plotted(chart, styles))));
    fit(place); // once all have their places, and so their widths
  }

  let waiting = null;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => fit(), 150);
  });
  return { all, bars, fit };
})();
