// Scores rows by a model that flipcost.export.to_json wrote. In a page:
//   const result = flipcost.score(model, {age: 50, town: "Paris", seen: "2024-02-01"});
//   result.probability_positive, result.called_positive, result.prediction
// and in Node.js the same after `const flipcost = require("./scorer.js")`. A missing value is null,
// undefined, NaN or an empty text; a date is a Date, days since 1970, or text.
(function (root) {
  "use strict";
  const TRUE = ["true", "yes", "t", "y"];
  const FALSE = ["false", "no", "f", "n"];
  const PARTS = { "%Y": "y", "%m": "m", "%d": "d", "%H": "h", "%M": "i", "%S": "s" };

  function isMissing(value) {
    return value === null || value === undefined || value === "" || Number.isNaN(value);
  }

  function refuse(column, value) {
    throw new TypeError(`Column ${JSON.stringify(column.name)} must hold a ${column.kind}; got ${JSON.stringify(value)}.`);
  }

  function readDate(column, value) {
    if (typeof value === "number") return value;
    if (value instanceof Date) return Math.floor(value.getTime() / 1000) / 86400;
    const written = column.format || (String(value).length > 10 ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d");
    const order = [];
    const pattern = written
      .replace(/[.\/]/g, "\\$&")
      .replace("T", "[T ]")
      .replace(/%[YmdHMS]/g, (code) => (order.push(PARTS[code]), "(\\d+)"));
    const found = new RegExp("^" + pattern + "(?:\\.\\d+)?Z?$").exec(String(value));
    if (!found) refuse(column, value);
    const p = { y: 1970, m: 1, d: 1, h: 0, i: 0, s: 0 };
    order.forEach((part, k) => { p[part] = Number(found[k + 1]); });
    const time = Date.UTC(p.y, p.m - 1, p.d, p.h, p.i, p.s);
    if (new Date(time).getUTCDate() !== p.d) refuse(column, value);
    return time / 86400000;
  }

  // A value as a number, or as the place of its level (others, then missing ones, come last).
  function readValue(column, value) {
    if (column.kind === "category") {
      if (isMissing(value)) return column.levels.length + 1;
      const place = column.levels.indexOf(String(value));
      return place < 0 ? column.levels.length : place;
    }
    if (isMissing(value)) return NaN;
    if (column.kind === "date") return readDate(column, value);
    if (column.kind === "boolean") {
      const word = String(value).toLowerCase();
      if (TRUE.includes(word)) return 1;
      return FALSE.includes(word) ? 0 : refuse(column, value);
    }
    const number = Number(value);
    return Number.isFinite(number) ? number : refuse(column, value);
  }

  function readNumber(feature, read) {
    let value = read[feature.column];
    if (feature.part > 0) {
      const period = feature.part < 3 ? 365.2425 : 7;
      if (feature.part >= 3) value -= period * Math.floor(value / period);
      const angle = (2 * Math.PI * value) / period;
      value = feature.part % 2 ? Math.sin(angle) : Math.cos(angle);
    }
    if (Number.isNaN(value) && feature.fill !== null) value = feature.fill;
    return (value - feature.centre) / feature.scale;
  }

  // Where in a table of levels, others and missing values a value stands.
  function placeIn(table, value) {
    return table.values.length > 2 ? value : Number.isNaN(value) ? 1 : 0;
  }

  function lookUp(table, column, value) {
    return table.values[column.kind === "category" ? value : placeIn(table, value)];
  }

  function walk(tree, features) {
    while (Array.isArray(tree)) {
      const value = features[tree[0]];
      const left = Number.isNaN(value) ? tree[2] : value <= tree[1];
      tree = left ? tree[3] : tree[4];
    }
    return tree;
  }

  function readCurve(curve, score) {
    const place = Math.min(Math.max(score, 0), curve.length - 1);
    if (Number.isNaN(place)) return NaN;
    const cell = Math.min(Math.floor(place), curve.length - 2);
    return curve[cell] + (curve[cell + 1] - curve[cell]) * (place - cell);
  }

  function readLink(link, score) {
    if (link.kind === "logistic") return 1 / (1 + Math.exp(-score));
    const { cost, margin } = link;
    const s = Math.min(Math.max(score, -1 / margin), 1);
    const above = cost * (1 + margin * s);
    return above / (above + (1 - cost) * (1 - s));
  }

  function addUp(model, read) {
    const scores = model.bias.slice();
    const add = (values, factor) => {
      for (let m = 0; m < scores.length; m += 1) scores[m] += factor * values[m];
    };
    for (const term of model.numbers) {
      const z = readNumber(term, read);
      add(term.slopes, z);
      term.knots.forEach((knot, k) => { if (z > knot) add(term.bends[k], z - knot); });
    }
    for (const term of model.tables) add(lookUp(term, model.columns[term.column], read[term.column]), 1);
    if (model.trees.length) {
      const features = model.features.map((feature) =>
        feature.values ? lookUp(feature, model.columns[feature.column], read[feature.column]) : readNumber(feature, read));
      add(model.share, model.trees.reduce((sum, tree) => sum + walk(tree, features), model.baseline));
    }
    return scores;
  }

  function score(model, row) {
    if (model.format !== "flipcost.formula" || model.version !== 1) {
      throw new TypeError("The model must be one that flipcost.export.to_json wrote, of version 1.");
    }
    const read = model.columns.map((column) => readValue(column, row[column.name]));
    const scores = addUp(model, read);
    const probability = model.curves
      ? scores.reduce((sum, s, m) => sum + readCurve(model.curves[m], s), 0)
      : readLink(model.link, scores[0]);
    const result = { probability_positive: probability };
    if (model.labels) {
      const called = model.constant === null
        ? (model.link && model.link.kind === "uneven" ? scores[0] > 0 : probability > model.threshold)
        : model.constant;
      result.called_positive = called;
      result.prediction = model.labels[called ? 1 : 0];
    }
    return result;
  }

  root.flipcost = Object.assign(root.flipcost || {}, { score });
  if (typeof module !== "undefined" && module.exports) module.exports = { score };
})(typeof globalThis !== "undefined" ? globalThis : this);
