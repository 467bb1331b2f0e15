// Positives found, false alarms and right decisions at every threshold: two pictures of the same bins.
(function () {
  const { data, unmixing, setPoints } = window.flipcost, part = data.parts.roc;
  const clip = (x) => Math.min(Math.max(x, 0), 1);
  const [negative, positive] = part.counts.map((row) => [...row].reverse());
  const running = (xs) => { let s = 0; return xs.map((x) => (s += x)); };
  const rising = (xs) => { let m = 0; return xs.map((x) => (m = Math.max(m, x))); };
  const shares = (above) => [0, ...rising(above.map((x) =>
    clip(x / Math.max(above[above.length - 1], 1e-300))))];
  window.flipcost.onMove((_, r) => {
    const u = unmixing(r);
    const clean = [0, 2].map((row) =>
      running(negative.map((n, i) => u[row] * n + u[row + 1] * positive[i])));
    const [falsely, truly] = clean.map(shares);
    const called = running(negative.map((n, i) => n + positive[i]));
    const right = clean[1].map((x, i) => clip(x / called[i]));
    let area = 0;
    for (let i = 1; i < truly.length; i++) {
      area += (falsely[i] - falsely[i - 1]) * (truly[i] + truly[i - 1]) / 2;
    }
    const node = document.getElementById("roc-area");
    node.textContent = area.toFixed(3);
    node.dataset.value = area;
    setPoints("roc", falsely, truly);
    setPoints("precision", truly.slice(1), right);
  });
})();
