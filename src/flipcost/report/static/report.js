"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const BOX = { left: 76, right: 508, top: 14, bottom: 256 };
  const POINTS = 46, TICKS = 4, STEPS = [1, 2, 2.5, 5, 10];
  const rate = data.rate;
  // What the scripts of other parts may use.
  const moved = [];
  window.flipcost = {
    data, unmixing, denoise, setPoints,
    figure: (x) => figure(x), spanText: (values, scale) => spanText(values, scale),
    onMove: (f) => { moved.push(f); f(Number(slider.cost.value), assumed()); },
  };
  const el = (id) => document.getElementById(id);
  const slider = { cost: el("slider-cost"), pos: el("slider-rate-pos"), neg: el("slider-rate-neg") };
  // Where nothing can be said of label errors no rate can be moved.
  const SIDES = (rate.one ? ["pos"] : ["pos", "neg"]).filter((side) => slider[side]);

  // Clean class totals from noisy ones: [[a, b], [c, d]], negative class first.
  function unmixing([p, n]) {
    const k = 1 - p - n;
    return [(1 - p) / k, -p / k, -n / k, (1 - n) / k];
  }

  // Tables are [tn, fp, fn, tp].
  function denoise(t, u) {
    return [u[0] * t[0] + u[1] * t[2], u[0] * t[1] + u[1] * t[3],
            u[2] * t[0] + u[3] * t[2], u[2] * t[1] + u[3] * t[3]];
  }
  // The same, clipped to the feasible range: of each call, from none to all rows are positive.
  function possible(t, u) {
    const d = denoise(t, u);
    const fn = Math.min(Math.max(d[2], 0), t[0] + t[2]);
    const tp = Math.min(Math.max(d[3], 0), t[1] + t[3]);
    return [t[0] + t[2] - fn, t[1] + t[3] - tp, fn, tp];
  }
  const sum = (t) => t[0] + t[1] + t[2] + t[3];
  const costOf = (t, alpha, rows) => ((1 - alpha) * t[2] + alpha * t[1]) / rows;
  const tableOf = (c, k) => [c.counts[k], (c.squares || c.counts)[k]];
  // Where prices differ by row, rows weigh what they cost, but are counted as rows.
  const paidOf = (c, k) => c.paid ? [c.paid[k], c.paidSquares[k]] : tableOf(c, k);
  const cleanCost = (c, k, u) =>
    costOf(possible(paidOf(c, k)[0], u), data.costs[k], sum(c.counts[k]));

  // Whether so many rows with labels so mixed tell anything; see flipcost.core.feasible.
  function isIdentified([p, n], rows) {
    const kept = 1 - p - n;
    return kept > 0.5 || rows >= Math.ceil(1 / (4 * (0.25 * kept) ** 2));
  }

  // Value and limits of a linear share of the clean counts, by the delta method at counts with
  // half a row added to each cell; loss holds the weight of each clean cell.
  // Where `cut`, limits lie around clipped counts, as the library's do.
  function shareOf(counts, squares, loss, r, most, rows, cut) {
    const u = unmixing(r), typical = sum(squares) / sum(counts);
    const smooth = counts.map((x) => x + 0.5 * typical);
    const dot = (t) => t.reduce((s, x, i) => s + x * loss[i], 0);
    const paid_ = rows !== undefined, total = paid_ ? rows : sum(smooth);
    const value = dot(possible(counts, u)) / (paid_ ? rows : sum(counts));
    const centre = dot(denoise(smooth, u)) / total;
    const paid = [u[0] * loss[0] + u[2] * loss[2], u[0] * loss[1] + u[2] * loss[3],
                  u[1] * loss[0] + u[3] * loss[2], u[1] * loss[1] + u[3] * loss[3]];
    let variance = 0;
    paid.forEach((x, i) => {
      variance += ((x - (paid_ ? 0 : centre)) / total) ** 2 * (squares[i] + 0.5 * typical ** 2);
    });
    const middle = cut ? dot(possible(smooth, u)) / total : centre;
    const reach = isIdentified(r, sum(counts) ** 2 / sum(squares))
      ? data.reach * Math.sqrt(variance) : Infinity;
    const clip = (x) => Math.min(Math.max(x, 0), most);
    return [value, Math.min(clip(middle - reach), value), Math.max(clip(middle + reach), value)];
  }
  function costInterval(candidate, k, r) {
    const alpha = data.costs[k], [counts, squares] = paidOf(candidate, k);
    const loss = [0, alpha, 1 - alpha, 0], rows = sum(candidate.counts[k]);
    if (candidate.paid) return shareOf(counts, squares, loss, r, sum(counts) / rows, rows);
    const most = costOf([0, counts[1] + counts[3], counts[0] + counts[2]], alpha, sum(counts));
    return shareOf(counts, squares, loss, r, most, undefined, true);
  }

  // Figures as flipcost.words writes them.
  const order = (x) => 10 ** Math.floor(Math.log10(Math.abs(x)) + 1e-12);
  function rounded(x, step) {
    let value = Math.round(x / step) * step, unit = "";
    if (Math.abs(value) >= 1e6 && step >= 1e4) [value, step, unit] = [value / 1e6, step / 1e6, " million"];
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits })
      .replace(/^-(0(\.0+)?)$/, "$1") + unit;
  }
  const figure = (x) => x ? rounded(x, order(x) / 10).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "") : "0";
  function figures(values) {
    const half = (values[2] - values[1]) / 2, first = half > 0 ? order(half) : Infinity;
    const large = Math.max(...values.map(Math.abs)) >= 1e6 && 100 * first >= 1e6;
    const [scale, unit] = large ? [1e6, " million"] : [1, ""];
    let finest = half > 0 ? first / 10 : 0;
    if (half >= 1 && !large) finest = Math.max(finest, 1);
    const [v, lo, hi] = values.map((x) => x
      ? rounded(x / scale, Math.max(finest, Math.min(order(x) / 10, first)) / scale) : "0");
    return [v + unit, lo, hi + unit];
  }
  function spanText(values, scale) {
    const [v, lo, hi] = figures(values.map((x) => x * scale));
    return v + " (" + lo + "\u00a0to\u00a0" + hi + ")";
  }
  function ratioText(alpha) {
    const ratio = (1 - alpha) / alpha;
    return ratio >= 1 ? +ratio.toPrecision(3) + " : 1" : "1 : " + +(1 / ratio).toPrecision(3);
  }

  function axisTop(value) {
    if (!(value > 0)) return 1;
    const unit = 10 ** Math.floor(Math.log10(value / TICKS));
    return STEPS.find((s) => s * unit * TICKS >= value * (1 - 1e-12)) * unit * TICKS;
  }
  // An axis has room for seven signs; see flipcost.report._charts.
  function tickText(value, top) {
    const [unit, sign] = top >= 1e6 && value ? [1e6, " M"] : top >= 1e5 && value ? [1e3, " k"] : [1, ""];
    return (value / unit).toLocaleString("en", { maximumSignificantDigits: 10 }) + sign;
  }
  const height = (v, top) =>
    BOX.bottom - (BOX.bottom - BOX.top) * Math.min(Math.max(v / top, -0.2), 1.6);
  const across = (x, first, last) =>
    BOX.left + (BOX.right - BOX.left) * (x - first) / (last - first);

  function setLines(svg, lines, xs, top) {
    for (const key of Object.keys(lines)) {
      const points = lines[key].map((v, i) => xs[i].toFixed(1) + "," + height(v, top).toFixed(1));
      svg.querySelector(".line." + key).setAttribute("points", points.join(" "));
    }
  }
  // A denoised line of a square picture, with its dots, from shares across and up.
  const SQUARE = { left: 38, right: 290, top: 28, bottom: 244 };
  function setPoints(name, xs, ys) {
    const places = xs.map((x, i) => [
      SQUARE.left + (SQUARE.right - SQUARE.left) * x,
      SQUARE.bottom - (SQUARE.bottom - SQUARE.top) * ys[i],
    ].map((v) => v.toFixed(1)));
    el(name).querySelector("polyline.denoised").setAttribute("points", places.join(" "));
    el(name).querySelectorAll("circle.denoised").forEach((dot, i) => {
      dot.setAttribute("cx", places[i][0]);
      dot.setAttribute("cy", places[i][1]);
    });
  }
  function setMarker(svg, x) {
    const line = svg.querySelector(".marker");
    line.setAttribute("x1", x.toFixed(1));
    line.setAttribute("x2", x.toFixed(1));
  }

  function movePath(k, r) {
    const svg = el("path"), scale = 1000 * data.priceFp / data.costs[k];
    const grid = [], lines = {}, tops = {};
    for (let i = 0; i < POINTS; i++) {
      grid.push(rate.most[0] * i / (POINTS - 1));
    }
    for (const c of data.candidates) {
      lines[c.key] = grid.map((g) =>
        scale * cleanCost(c, k, unmixing([g, rate.one ? g : r[1]])));
      tops[c.key] = Math.max(...lines[c.key]);
    }
    const others = Object.keys(tops).filter((key) => !key.startsWith("all_"));
    const constants = Math.min(tops.all_positive, tops.all_negative);
    const top = axisTop(Math.max(1.15 * constants, ...others.map((key) => tops[key])));
    setLines(svg, lines, grid.map((g) => across(g, 0, rate.axis)), top);
    svg.querySelectorAll(".ytick").forEach((text, i) => {
      text.textContent = tickText(top * i / TICKS, top);
    });
    setMarker(svg, across(r[0], 0, rate.axis));
  }

  function show(node, values, scale) {
    node.textContent = spanText(values, scale);
    node.dataset.value = values[0] * scale;
    node.dataset.low = values[1] * scale;
    node.dataset.high = values[2] * scale;
  }

  function moveNow(k, r) {
    const scale = 1000 * data.priceFp / data.costs[k], best = data.candidates[0];
    // Where nothing was moved, the figures of the audit itself: it weighs all rates.
    show(el("out-now"), isMoved() ? costInterval(best, k, r) : best.likely, scale);
    const price = data.parts.whatif, mark = el("price-price");
    if (mark) setMarker(mark, price.x[k]);
  }

  function moveConfusion(k, r) {
    const [counts, squares] = tableOf(data.candidates[Number(el("confusion-of").value)], k);
    ["tn", "fp", "fn", "tp"].forEach((name, i) => {
      const loss = [0, 0, 0, 0];
      loss[i] = 1;
      for (const [kind, assumed] of [["observed", [0, 0]], ["denoised", r]]) {
        const values = shareOf(counts, squares, loss, assumed, 1);
        const node = el(kind + "-" + name);
        const [v, lo, hi] = figures(values.map((x) => 1000 * x));
        node.querySelector("b").textContent = v;
        node.querySelector("small").textContent = lo + " to " + hi;
        node.dataset.value = 1000 * values[0];
        node.dataset.low = 1000 * values[1];
        node.dataset.high = 1000 * values[2];
      }
    });
  }

  function isMoved() {
    return SIDES.some((side) => slider[side].dataset.moved) || Number(slider.cost.value) !== data.index;
  }
  // Sliders move by steps; where one has not been moved, the estimate itself is meant.
  function assumed() {
    const found = ["pos", "neg"].map((side, i) => slider[side] && slider[side].dataset.moved
      ? Number(slider[side].value) : rate.value[i]);
    return rate.one ? [found[0], found[0]] : found;
  }
  const percent = (x) => (100 * x).toFixed(1) + "%";
  function say(input, output, text) {
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  }
  function move() {
    const k = Number(slider.cost.value), r = assumed();
    say(slider.cost, el("out-cost"), ratioText(data.costs[k]));
    SIDES.forEach((side, i) => say(slider[side], el("out-rate-" + side), percent(r[i])));
    el("now-words").textContent = isMoved() ? "If so, 1,000 rows cost" : "1,000 rows cost";
    if (el("path")) movePath(k, r);
    moveNow(k, r);
    moveConfusion(k, r);
    moved.forEach((f) => f(k, r));
  }

  slider.cost.max = String(data.costs.length - 1);
  slider.cost.addEventListener("input", move);
  SIDES.forEach((side) => slider[side].addEventListener("input", () => {
    slider[side].dataset.moved = "1";
    move();
  }));
  el("confusion-of").addEventListener("change", () => moveConfusion(Number(slider.cost.value), assumed()));
  el("reset").addEventListener("click", () => {
    slider.cost.value = String(data.index);
    SIDES.forEach((side, i) => {
      slider[side].value = String(rate.value[i]);
      delete slider[side].dataset.moved;
    });
    move();
  });
  el("reset").click();

  // A table that is wider than its place scrolls, and can then be reached by the keyboard.
  function reachable() {
    document.querySelectorAll(".wide:not(.bench-list)").forEach((place) => {
      if (place.scrollWidth <= place.clientWidth) {
        ["tabindex", "role", "aria-labelledby"].forEach((name) => place.removeAttribute(name));
        return;
      }
      place.tabIndex = 0;
      place.setAttribute("role", "region");
      const part = place.closest("details, section");
      place.setAttribute("aria-labelledby", part.id.replace("part-", "title-"));
    });
  }
  window.addEventListener("resize", reachable);
  document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", reachable));
  reachable();
})();
