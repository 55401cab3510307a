(function () {
  "use strict";
  var specs = JSON.parse(document.getElementById("figures").textContent);
  var tip = document.body.appendChild(document.createElement("div"));
  var dot = document.body.appendChild(document.createElement("div"));
  tip.className = "tip";
  dot.className = "dot";
  tip.hidden = dot.hidden = true;
  var overMark = false;
  // Width of the space beside a panel for its vertical axis, pixels.
  var MARGIN = 96;

  function hide() {
    tip.hidden = dot.hidden = true;
  }

  function show(value, event) {
    tip.replaceChildren();
    Object.keys(value).forEach(function (key) {
      var row = tip.appendChild(document.createElement("div"));
      row.appendChild(document.createElement("span")).textContent = key;
      row.appendChild(document.createElement("b")).textContent = value[key];
    });
    tip.hidden = false;
    var left = event.clientX + 16;
    var top = event.clientY + 12;
    if (left + tip.offsetWidth > window.innerWidth - 8) left = event.clientX - tip.offsetWidth - 16;
    if (top + tip.offsetHeight > window.innerHeight - 8) top = event.clientY - tip.offsetHeight - 12;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  }

  // Shows Vega's own tooltips for points and cells, but not for curves, because Vega's tooltip of a
  // curve always shows the first point of the curve.
  function tooltip(handler, event, item, value) {
    var curve = item && item.mark && item.mark.marktype === "line";
    overMark = Boolean(value) && typeof value === "object" && !curve;
    if (overMark) {
      dot.hidden = true;
      show(value, event);
    } else if (!curve) {
      hide();
    }
  }

  // Finds every curve of a figure, with the place of its panel.
  function curves(group, x, y, panel, found) {
    group.items.forEach(function (mark) {
      if (mark.marktype === "group") {
        mark.items.forEach(function (inner) {
          var left = x + (inner.x || 0);
          var top = y + (inner.y || 0);
          var size = inner.width && inner.height;
          var own = size ? { x: left, y: top, w: inner.width, h: inner.height } : panel;
          curves(inner, left, top, own, found);
        });
      } else if (mark.marktype === "line" && panel && mark.items.length && mark.items[0].tooltip) {
        found.push({ items: mark.items, x: x, y: y, panel: panel });
      }
    });
    return found;
  }

  // Returns the point of a curve that is nearest along x, and how far the curve is from the
  // pointer.
  function nearest(curve, x, y) {
    var items = curve.items;
    var best = 0;
    for (var i = 1; i < items.length; i++) {
      if (Math.abs(items[i].x + curve.x - x) < Math.abs(items[best].x + curve.x - x)) best = i;
    }
    var item = items[best];
    var next = items[item.x + curve.x < x ? best + 1 : best - 1] || item;
    var at = item.y;
    if (item.interpolate === "step-after") {
      at = item.x + curve.x > x ? next.y : item.y;
    } else if (next.x !== item.x) {
      at += ((next.y - item.y) * (x - curve.x - item.x)) / (next.x - item.x);
    }
    return { item: item, curve: curve, away: Math.abs(at + curve.y - y) };
  }

  function follow(view, element) {
    function move(event) {
      var svg = element.querySelector("svg.marks");
      var root = svg && svg.querySelector("g.root");
      if (!root || overMark) return;
      var matrix = root.getScreenCTM();
      var place = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      var found = curves(view.scenegraph().root.items[0], 0, 0, null, [])
        .filter(function (curve) {
          var p = curve.panel;
          var inside = place.x >= p.x && place.x <= p.x + p.w;
          return inside && place.y >= p.y && place.y <= p.y + p.h && !(curve.items[0].opacity < 0.1);
        })
        .map(function (curve) {
          return nearest(curve, place.x, place.y);
        })
        .sort(function (a, b) {
          return a.away - b.away;
        })[0];
      if (!found) return hide();
      var at = new DOMPoint(found.item.x + found.curve.x, found.item.y + found.curve.y);
      at = at.matrixTransform(matrix);
      dot.style.left = at.x + "px";
      dot.style.top = at.y + "px";
      dot.style.background = found.item.stroke;
      dot.hidden = false;
      show(found.item.tooltip, event);
    }
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerdown", move);
    element.addEventListener("pointerleave", hide);
  }
  window.addEventListener("scroll", hide, { passive: true });

  // If the page is narrower than a figure, makes the panels narrower, and puts them and the legend
  // one below the other.
  function fitted(spec, room) {
    if (!spec || typeof spec !== "object") return;
    if (Array.isArray(spec)) {
      spec.forEach(function (part) {
        fitted(part, room);
      });
      return;
    }
    if (typeof spec.columns === "number" && (spec.concat || spec.facet)) {
      var inner = spec.spec || spec.concat[0] || {};
      spec.columns = Math.max(1, Math.floor(room / ((inner.width || room) + 40)));
    }
    if (typeof spec.width === "number" && spec.width > room) {
      var left = named(spec, room);
      placed(spec, spec.width, left);
      spec.width = left;
    }
    ["layer", "concat", "hconcat", "vconcat", "spec"].forEach(function (key) {
      fitted(spec[key], room);
    });
  }

  // Slants the names of columns so that they do not overlap, and shortens long names of rows.
  // Returns the width that the names of rows leave for the panel.
  function named(spec, room) {
    var left = room;
    [spec].concat(spec.layer || []).forEach(function (layer) {
      var x = (layer.encoding && layer.encoding.x) || {};
      var y = (layer.encoding && layer.encoding.y) || {};
      if (x.type === "nominal" && x.axis && x.axis.labelAngle === 0) x.axis.labelAngle = -45;
      if (y.type === "nominal" && y.axis && y.axis.labelLimit > MARGIN) {
        y.axis.labelLimit = Math.min(y.axis.labelLimit, Math.round((room + MARGIN) * 0.45));
        left = Math.min(left, room + MARGIN - y.axis.labelLimit - 20);
      }
    });
    return left;
  }

  // Moves text at the right edge of a figure when that edge moves. Hides text beyond the edge, for
  // which there is no space; tooltips show it.
  function placed(spec, width, room) {
    function at(layer) {
      var x = layer.encoding && layer.encoding.x;
      return x && typeof x.value === "number" ? x.value : -1;
    }
    if (!spec.layer) return;
    spec.layer = spec.layer.filter(function (layer) {
      if (at(layer) === width) layer.encoding.x.value = room;
      if (layer.layer) placed(layer, width, room);
      if (layer.encoding && layer.encoding.color && layer.encoding.color.legend) {
        delete layer.encoding.color.legend.offset;
      }
      if (layer.encoding && layer.encoding.shape && layer.encoding.shape.legend) {
        delete layer.encoding.shape.legend.offset;
      }
      return at(layer) <= width;
    });
  }

  document.querySelectorAll("[data-figure]").forEach(function (element) {
    var spec = specs[element.dataset.figure];
    var options = {
      actions: { export: true, source: false, compiled: false, editor: false },
      renderer: "svg",
      ast: true,
      tooltip: tooltip,
    };
    if (element.clientWidth < 700) {
      fitted(spec, element.clientWidth - MARGIN);
      options.config = { legend: { orient: "top", columns: 2, labelLimit: 130 } };
    }
    vegaEmbed(element, spec, options)
      .then(function (made) {
        follow(made.view, element);
      })
      .catch(function (error) {
        element.textContent = "This figure could not be drawn: " + error.message;
      });
  });
})();
