(function () {
  const part = window.flipcost.data.parts.price;
  window.flipcost.onMove((k) => {
    for (const name of ["price-benefit", "price-price"]) {
      const line = document.getElementById(name).querySelector(".marker");
      line.setAttribute("x1", part.x[k]);
      line.setAttribute("x2", part.x[k]);
    }
  });
})();
