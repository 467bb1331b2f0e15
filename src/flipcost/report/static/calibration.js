(function () {
  const { data, unmixing, setPoints } = window.flipcost, part = data.parts.calibration;
  const [negative, positive] = part.counts;
  // The clean share of a bin, clipped to the feasible range; see flipcost.core.curves.
  window.flipcost.onMove((_, r) => {
    const u = unmixing(r);
    const share = positive.map((p, i) =>
      Math.min(Math.max((u[2] * negative[i] + u[3] * p) / (negative[i] + p), 0), 1));
    setPoints("calibration", part.probability, share);
  });
})();
