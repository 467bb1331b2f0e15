// Scores rows by a model that flipcost.export.to_json wrote. In a page:
//   const result = flipcost.score(model, {age: 50, town: "Paris", seen: "2024-02-01"});
//   result.probability_positive, result.flagged, result.prediction
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

  // A number of a row; that of a category is the place of its level.
  function readNumber(number, read) {
    let value = read[number.column];
    if (number.part > 0) {
      const period = number.part < 3 ? 365.2425 : 7;
      if (number.part >= 3) value -= period * Math.floor(value / period);
      const angle = (2 * Math.PI * value) / period;
      value = number.part % 2 ? Math.sin(angle) : Math.cos(angle);
    }
    if (Number.isNaN(value) && number.fill !== null) value = number.fill;
    if (number.low !== null && value < number.low) value = number.low;
    if (number.high !== null && value > number.high) value = number.high;
    return (value - number.centre) / number.scale;
  }

  function walk(tree, numbers) {
    let node = 0;
    while (tree.left[node]) {
      const value = numbers[tree.number[node]], goes = tree.goes[node];
      const left = goes ? goes[value] : Number.isNaN(value) ? tree.missing_left[node] : value <= tree.threshold[node];
      node = left ? tree.left[node] : tree.right[node];
    }
    return tree.value[node];
  }

  function readCurve(curve, score) {
    const place = Math.min(Math.max(score, 0), curve.length - 1);
    if (Number.isNaN(place)) return NaN;
    const cell = Math.min(Math.floor(place), curve.length - 2);
    return curve[cell] + (curve[cell + 1] - curve[cell]) * (place - cell);
  }

  function readLink(link, score) {
    let found = 1 / (1 + Math.exp(-score));
    if (link.kind === "uneven") {
      const s = Math.min(Math.max(score, -1 / link.margin), 1);
      const above = link.cost * (1 + link.margin * s);
      found = above / (above + (1 - link.cost) * (1 - s));
    }
    if (link.low === 0 && link.high === 1) return found;
    return Math.min(Math.max((found - link.low) / (link.high - link.low), 0), 1);
  }

  function addUp(model, read) {
    const scores = model.bias.slice();
    const add = (values, factor) => {
      for (let m = 0; m < scores.length; m += 1) scores[m] += factor * values[m];
    };
    const numbers = model.numbers.map((number) => readNumber(number, read));
    for (const term of model.number_terms) {
      const z = numbers[term.number];
      add(term.slopes, z);
      term.knots.forEach((knot, k) => { if (z > knot) add(term.bends[k], z - knot); });
    }
    for (const term of model.level_terms) {
      const value = read[term.column], isCategory = model.columns[term.column].kind === "category";
      add(term.values[isCategory ? value : Number.isNaN(value) ? 1 : 0], 1);
    }
    for (const forest of model.forests) {
      add(forest.share, forest.trees.reduce((sum, tree) => sum + walk(tree, numbers), forest.baseline));
    }
    return scores;
  }

  // A cost, by steps whose operands come first.
  function compute(steps, row) {
    const values = [], run = {
      "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
      negate: (a) => -a, abs: Math.abs, min: Math.min, max: Math.max,
    };
    for (const [kind, value, n] of steps) {
      if (kind === "number") values.push(value);
      else if (kind === "column") values.push(isMissing(row[value]) ? NaN : Number(row[value]));
      else values.push(run[value](...values.splice(values.length - n)));
    }
    if (!Number.isFinite(values[0])) throw new TypeError("A cost of the row is missing, or no number.");
    return values[0];
  }

  function decide(model, row, score, probability) {
    const { by, threshold } = model.decision;
    if (by === "always" || by === "never") return by === "always";
    if (by === "score") return score > 0;
    if (threshold !== null) return probability > threshold;
    const [fn, fp, tp, tn] = model.steps.map((steps) => compute(steps, row));
    if (fn < 0 || fp < 0) throw new TypeError("The cost of an error must be at least 0.");
    return (fn - tp) * probability - (fp - tn) * (1 - probability) > 0;
  }

  function score(model, row) {
    if (model.format !== "flipcost.formula" || model.version !== 1 || !model.used) {
      throw new TypeError("The model must be one that flipcost.export.to_json wrote, of version 1.");
    }
    const read = model.columns.map(() => NaN);
    for (const k of model.used) read[k] = readValue(model.columns[k], row[model.columns[k].name]);
    const scores = addUp(model, read);
    const probability = model.curves
      ? scores.reduce((sum, s, m) => sum + readCurve(model.curves[m], s), 0)
      : readLink(model.link, scores[0]);
    const result = { probability_positive: probability };
    if (model.decision) {
      result.flagged = decide(model, row, scores[0], probability);
      result.prediction = model.labels[result.flagged ? 1 : 0];
    }
    return result;
  }

  root.flipcost = Object.assign(root.flipcost || {}, { score });
  if (typeof module !== "undefined" && module.exports) module.exports = { score };
})(typeof globalThis !== "undefined" ? globalThis : this);
