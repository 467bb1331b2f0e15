(function () {
  const part = window.flipcost.data.parts.depth;
  const el = (id) => document.getElementById(id);
  const slider = el("depth-slider");
  const show = window.flipcost.number;
  function span([value, low, high], scale, digits, unit) {
    const [v, l, h] = [value, low, high].map((x) => show(scale * x, digits));
    return v + unit + " (" + l + " to " + h + ")";
  }
  function move() {
    const k = Number(slider.value), calls = Math.round(part.depth[k] * part.n);
    const called = calls.toLocaleString("en") + " (" + show(100 * part.depth[k], 1) + " %)";
    el("depth-out").textContent = called;
    slider.setAttribute("aria-valuetext", called);
    const money = part.profit[k].map((x) => x * part.n);
    const digits = Math.max(...money.map(Math.abs)) >= 10 ? 0 : 2;
    el("depth-said").textContent = "They save " + span(money, 1, digits, "") + " in all; " +
      span(part.precision[k], 100, 0, " %") + " of the calls are right, and find " +
      span(part.recall[k], 100, 0, " %") + " of the positives, " +
      span(part.lift[k], 1, 1, " times") + " as many as random calls.";
    el("depth-said").dataset.profit = money[0];
    for (const name of ["depth-profit", "depth-lift"]) {
      const line = el(name).querySelector(".marker");
      line.setAttribute("x1", part.x[k]);
      line.setAttribute("x2", part.x[k]);
    }
  }
  slider.addEventListener("input", move);
  move();
})();
