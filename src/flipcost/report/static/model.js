(function () {
  const { data, unmixing, denoise, figure } = window.flipcost, moved = data.parts.model;
  // What rows cost more with a column shuffled: linear in how flags move, so nothing is cut but
  // what would be a saving.
  window.flipcost.onMove((k, r) => {
    const u = unmixing(r), alpha = data.costs[k], scale = 1000 * data.priceFp / alpha;
    const worth = moved.map((tables) => {
      const t = denoise(tables[k], u);
      return Math.max(scale * ((1 - alpha) * t[2] + alpha * t[1]), 0);
    });
    const largest = Math.max(...worth) || 1;
    worth.forEach((x, i) => {
      const node = document.getElementById("worth-" + i);
      node.textContent = figure(x);
      node.dataset.value = x;
      document.getElementById("worth-bar-" + i).style.width = (100 * x / largest).toFixed(1) + "%";
    });
  });
})();
