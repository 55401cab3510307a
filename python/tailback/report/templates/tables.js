(function () {
  "use strict";
  // If a table is wider than the page, its first columns stay visible when it is scrolled sideways.
  // If the table is narrower, its heading stays at the top of the window.
  function settle() {
    document.querySelectorAll(".scroll").forEach(function (box) {
      var table = box.querySelector("table");
      box.classList.remove("fits");
      var fits = table.scrollWidth <= box.clientWidth + 1;
      box.classList.toggle("fits", fits);
      var heads = table.tHead.rows[0].cells;
      var left = 0;
      var frozen = 0;
      while (!fits && frozen < Number(table.dataset.labels)) {
        var wide = heads[frozen].offsetWidth;
        if (frozen > 0 && left + wide > box.clientWidth * 0.5) break;
        heads[frozen].dataset.left = left;
        left += wide;
        frozen += 1;
      }
      Array.prototype.forEach.call(table.rows, function (row) {
        for (var i = 0; i < Number(table.dataset.labels); i++) {
          var cell = row.cells[i];
          cell.classList.toggle("frozen", i < frozen);
          cell.style.left = i < frozen ? heads[i].dataset.left + "px" : "";
        }
      });
    });
  }
  settle();
  window.addEventListener("resize", settle);
})();
