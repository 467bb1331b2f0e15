(function () {
  const part = window.flipcost.data.parts.capacity, { spanText } = window.flipcost;
  const el = (id) => document.getElementById(id);
  const slider = el("capacity-slider");
  const share = (x) => Math.round(100 * x) + "%";
  const shares = ([v, lo, hi]) => share(v) + " (" + Math.round(100 * lo) + " to " + share(hi) + ")";
  function move() {
    const k = Number(slider.value), flags = Math.round(part.depth[k] * part.n);
    const flagged = flags.toLocaleString("en") + " (" + (100 * part.depth[k]).toFixed(1) + "%)";
    el("capacity-out").textContent = flagged;
    slider.setAttribute("aria-valuetext", flagged);
    el("capacity-said").textContent = "They save " + spanText(part.profit[k], 1000) + " per 1,000 rows; " +
      shares(part.precision[k]) + " of them are right, and they find " + shares(part.recall[k]) +
      " of true positives.";
    el("capacity-said").dataset.profit = part.profit[k][0] * part.n;
    const line = el("capacity-profit").querySelector(".marker");
    line.setAttribute("x1", part.x[k]);
    line.setAttribute("x2", part.x[k]);
  }
  slider.addEventListener("input", move);
  move();
})();
