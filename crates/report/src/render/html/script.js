// Additions to a report if scripts run: crosshair with values, zoom, switches, copying, theme, printing.
// Draws only the crosshair: the charts are SVG in the page, and their figures JSON.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const FINE = 10; // coordinates of a plot per pixel, as in the renderer

  // ---- Readable figures ---------------------------------------------------------------------

  const digits = (value, count = 3) => {
    const size = Math.abs(value);
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    return Number(value.toPrecision(count)).toString();
  };
  const scaled = (value, units) => {
    const [scale, unit] = units.find(([from]) => value >= 0.9995 * from) || units[units.length - 1];
    return `${digits(value / scale)} ${unit}`;
  };
  const clock = (value) => {
    const two = (n) => String(n).padStart(2, "0");
    const whole = Math.floor(value + 1e-9);
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
  };
  const percentile = (tail) => {
    const percent = 100 * (1 - 10 ** -tail);
    return `p${percent.toFixed(percent < 90 ? 0 : Math.max(0, Math.ceil(tail) - 1))}`;
  };
  const shown = (axis, value) => {
    if (value === null || value === undefined) return "–";
    const label = axis.labels && axis.labels.find(([at]) => at === value);
    if (label) return `${axis.title} ${label[1]}`;
    switch (axis.quantity) {
      case "time": return clock(value);
      case "latency":
        return value === 0 ? "0"
          : scaled(value, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
      case "bytes":
        return scaled(value, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
      case "share": return `${digits(value * 100)}%`;
      case "tail": return percentile(value);
      case "rate": return `${digits(value, 4)} ${axis.title}`;
      default: return digits(value);
    }
  };

  // ---- Axes ----------------------------------------------------------------------------------

  const place = (axis, value) => axis.scale === "log"
    ? Math.log(Math.max(value, axis.from) / axis.from) / Math.log(axis.to / axis.from)
    : (value - axis.from) / (axis.to - axis.from);
  const value = (axis, part) => axis.scale === "log"
    ? axis.from * (axis.to / axis.from) ** part
    : axis.from + part * (axis.to - axis.from);

  const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 86400];
  const ticks = (axis, from, to, about) => {
    if (axis.labels) return axis.labels.map(([at]) => at).filter((at) => at >= from && at <= to);
    const rough = (to - from) / about;
    const decade = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 5, 10].map((n) => n * decade).find((n) => n >= rough);
    if (axis.quantity === "time") step = TIMES.find((n) => n >= rough) || 86400;
    if (axis.quantity === "tail") step = 1;
    if (axis.quantity === "whole") step = Math.max(step, 1);
    const found = [];
    for (let n = Math.ceil(from / step); n * step <= to + step * 1e-6 && found.length < 50; n += 1) {
      found.push(n * step);
    }
    return found;
  };

  const make = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, of] of Object.entries(attributes)) element.setAttribute(key, of);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (text, act) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", act);
    return element;
  };

  // Copies text to the clipboard, and confirms it on the button.
  const copied = async (control, text) => {
    const name = control.textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    control.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { control.textContent = name; }, 1500);
  };

  // ---- One chart -----------------------------------------------------------------------------

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      const data = JSON.parse(figure.querySelector(".data").textContent);
      this.title = data.title;
      this.x = data.x;
      this.y = data.y;
      this.series = data.series;
      this.series.forEach((series, n) => { if (!series.x) series.x = this.series[n - 1].x; });
      this.zoom = [0, 1];
      this.at = null; // where the crosshair is, on the x axis
      this.drawings = [...this.plot.querySelectorAll(":scope > svg")].map((svg) => ({
        svg,
        inner: svg.querySelector(".inner"),
        ticks: svg.querySelector(".x-ticks"),
        asDrawn: [...svg.querySelector(".x-ticks").children],
        left: Number(svg.dataset.left), top: Number(svg.dataset.top),
        width: Number(svg.dataset.width), height: Number(svg.dataset.height),
        cross: svg.appendChild(make("path", { class: "cross" })),
        brush: svg.appendChild(make("rect", { class: "brush", width: 0 })),
      }));
      this.addReadout();
      this.addSwitches();
      this.listen();
    }

    addReadout() {
      this.readout = document.createElement("output");
      this.readout.className = "readout";
      this.plot.after(this.readout);
      const tools = document.createElement("div");
      tools.className = "tools";
      this.whole = button("Show all", () => this.zoomTo(0, 1));
      this.whole.hidden = true;
      const copy = button("Copy as CSV", () => this.copy(copy));
      tools.append(copy, button("Download SVG", () => this.download()), this.whole);
      this.readout.after(tools);
    }

    addSwitches() {
      const legend = [...this.figure.querySelectorAll(".legend:not(.ends) li")];
      for (const item of legend) {
        const control = button("", () => {
          const on = item.dataset.on !== "true";
          item.dataset.on = String(on);
          control.setAttribute("aria-pressed", String(on));
          for (const drawn of this.plot.querySelectorAll("[data-on]")) {
            if (drawn.dataset.name === item.dataset.name) drawn.dataset.on = String(on);
          }
          this.tell(false);
        });
        control.setAttribute("aria-pressed", item.dataset.on);
        control.append(...item.childNodes);
        item.append(control);
      }
    }

    // The elements of a series, in both drawings.
    drawn(series) {
      return [...this.plot.querySelectorAll("[data-name]")].find((of) => of.dataset.name === series.name);
    }

    isOn(series) {
      const drawn = this.drawn(series);
      return Boolean(drawn) && drawn.dataset.on === "true";
    }

    // The visible drawing: wide or narrow.
    drawing() {
      return this.drawings.find(({ svg }) => svg.getBoundingClientRect().width > 0);
    }

    // Converts a screen position to a fraction of the whole axis.
    partAt(event) {
      const drawing = this.drawing();
      const box = drawing.svg.getBoundingClientRect();
      const scale = box.width / (drawing.svg.viewBox.baseVal.width || 1);
      const seen = ((event.clientX - box.left) / scale - drawing.left) / drawing.width;
      const [from, to] = this.zoom;
      return from + Math.min(1, Math.max(0, seen)) * (to - from);
    }

    listen() {
      let begin = null;
      this.plot.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        begin = event.pointerType === "touch" ? null : this.partAt(event);
      });
      this.plot.addEventListener("pointermove", (event) => {
        const part = this.partAt(event);
        moveAll(this, this.nearest(value(this.x, part)), false);
        if (begin !== null) this.brush(begin, part);
      });
      const end = (event) => {
        if (begin === null) return;
        const [from, to] = [begin, this.partAt(event)].sort((a, b) => a - b);
        begin = null;
        this.brush(0, 0);
        if (to - from > 0.01 * (this.zoom[1] - this.zoom[0])) this.zoomTo(from, to);
      };
      this.plot.addEventListener("pointerup", end);
      this.plot.addEventListener("pointerleave", (event) => {
        end(event);
        // If keys moved the crosshair, a leaving pointer does not remove it.
        const held = charts.find((chart) => chart.plot === document.activeElement);
        if (!held || !(held === this || sharesTime(held, this))) moveAll(this, null, false);
      });
      this.plot.addEventListener("dblclick", () => this.zoomTo(0, 1));
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.plot.addEventListener("blur", () => moveAll(this, null, false));
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [from, to] = this.zoom;
      const steps = event.shiftKey ? 10 : 1;
      const act = {
        ArrowRight: () => this.step(steps),
        ArrowLeft: () => this.step(-steps),
        Home: () => moveAll(this, this.nearest(value(this.x, from)), true),
        End: () => moveAll(this, this.nearest(value(this.x, to)), true),
        "+": () => this.zoomAround(0.5),
        "=": () => this.zoomAround(0.5),
        "-": () => this.zoomAround(2),
        0: () => this.zoomTo(0, 1),
        Escape: () => { this.zoomTo(0, 1); moveAll(this, null, false); },
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }

    step(count) {
      const [from, to] = this.zoom.map((part) => value(this.x, part));
      const places = this.places().filter((x) => x >= from && x <= to);
      if (places.length === 0) return;
      const now = places.indexOf(this.at);
      const start = count > 0 ? 0 : places.length - 1;
      const next = now < 0 ? start : Math.min(places.length - 1, Math.max(0, now + count));
      moveAll(this, places[next], true);
    }

    // Possible positions of the crosshair: at points; on the axis of percentiles, evenly spaced.
    places() {
      if (this.x.quantity === "tail") {
        return Array.from({ length: 201 }, (_, n) => value(this.x, n / 200));
      }
      const all = new Set();
      for (const series of this.series.filter((s) => this.isOn(s))) series.x.forEach((x) => all.add(x));
      return [...all].sort((a, b) => a - b);
    }

    nearest(x) {
      if (this.x.quantity === "tail") return x;
      const here = place(this.x, x);
      let best = null;
      for (const candidate of this.places()) {
        const distance = Math.abs(place(this.x, candidate) - here);
        if (best === null || distance < best[1]) best = [candidate, distance];
      }
      return best && best[0];
    }

    // The points of a series at the crosshair: more than one if a value was measured again;
    // on the axis of percentiles, the op with this rank or the next higher one.
    pointsAt(series, x) {
      if (this.x.quantity === "tail") {
        const next = series.x.findIndex((at) => at >= x - 1e-9);
        return next < 0 ? [] : [next];
      }
      return series.x.flatMap((at, n) => (at === x ? [n] : []));
    }

    // Moves the crosshair and shows the values there; announces them if keys moved it.
    move(x, aloud) {
      this.at = x;
      this.tell(aloud);
      for (const { cross, left, top, width, height } of this.drawings) {
        if (x === null) { cross.removeAttribute("d"); continue; }
        const [from, to] = this.zoom;
        const part = (place(this.x, x) - from) / (to - from);
        if (part < -1e-9 || part > 1 + 1e-9) { cross.removeAttribute("d"); continue; }
        cross.setAttribute("d", `M${left + part * width} ${top}v${height}`);
      }
    }

    tell(aloud) {
      this.readout.setAttribute("aria-live", aloud ? "polite" : "off");
      this.readout.replaceChildren();
      if (this.at === null) return;
      const head = document.createElement("b");
      head.textContent = shown(this.x, this.at);
      this.readout.append(head);
      this.series.forEach((series) => {
        if (!this.isOn(series)) return;
        const points = this.pointsAt(series, this.at);
        if (points.length === 0) return;
        const last = points[points.length - 1];
        const item = document.createElement("span");
        const swatch = document.createElement("i");
        const drawn = this.drawn(series);
        const colors = [drawn, drawn.firstElementChild].filter(Boolean).flatMap((of) => [...of.classList]);
        swatch.className = colors.find((name) => /^c\d$/.test(name)) || "";
        const bare = (of) => shown({ ...this.y, title: "" }, of).trim();
        const low = series.low && series.low[last] !== null ? `${bare(series.low[last])} to ` : "";
        const part = series.part ? ` ${series.part}` : "";
        const others = points.slice(0, -1).map((point) => `${bare(series.y[point])}, `).join("");
        item.append(swatch, `${series.name}${part} ${others}${low}${shown(this.y, series.y[last])}`);
        this.readout.append(item);
      });
    }

    brush(from, to) {
      const [left, right] = [from, to].sort((a, b) => a - b)
        .map((part) => (part - this.zoom[0]) / (this.zoom[1] - this.zoom[0]));
      for (const drawing of this.drawings) {
        const { brush, top, height } = drawing;
        brush.setAttribute("x", drawing.left + left * drawing.width);
        brush.setAttribute("width", (right - left) * drawing.width);
        brush.setAttribute("y", top);
        brush.setAttribute("height", height);
      }
    }

    zoomAround(factor) {
      const [from, to] = this.zoom;
      const middle = this.at === null ? (from + to) / 2 : place(this.x, this.at);
      const half = Math.min(1, (to - from) * factor) / 2;
      const begin = Math.min(Math.max(0, middle - half), 1 - 2 * half);
      this.zoomTo(begin, begin + 2 * half);
    }

    zoomTo(from, to) {
      const together = this.x.quantity === "time" ? charts.filter((c) => c.x.quantity === "time") : [this];
      together.forEach((chart) => chart.show(from, Math.max(to, from + 1e-4)));
    }

    show(from, to) {
      this.zoom = [from, to];
      const all = from <= 0 && to >= 1;
      this.whole.hidden = all;
      const at = (x) => (place(this.x, x) - from) / (to - from);
      for (const drawing of this.drawings) {
        const { svg, inner, left, top, width, height } = drawing;
        inner.setAttribute("viewBox",
          `${from * width * FINE} 0 ${(to - from) * width * FINE} ${height * FINE}`);
        for (const text of svg.querySelectorAll(".names [data-x]")) {
          const part = at(Number(text.dataset.x));
          text.setAttribute("x", left + part * width);
          text.style.display = part < 0 || part > 1 ? "none" : "";
        }
        for (const group of svg.querySelectorAll(".glyphs")) {
          const series = this.series[Number(group.dataset.series)];
          const points = series.x.map((x, n) => [x, series.y[n]]).filter(([, y]) => y !== null);
          [...group.children].forEach((mark, n) => {
            const part = at(points[n][0]);
            const y = top + (1 - place(this.y, points[n][1])) * height;
            mark.setAttribute("transform", `translate(${left + part * width} ${y})`);
            mark.style.display = part < 0 || part > 1 ? "none" : "";
          });
        }
        for (const fixed of svg.querySelectorAll(".ends, .strip")) fixed.style.display = all ? "" : "none";
        drawing.ticks.replaceChildren(...(all ? drawing.asDrawn : this.ticksOf(drawing)));
      }
      this.move(this.at, false);
    }

    ticksOf({ left, top, width, height }) {
      const [from, to] = this.zoom;
      const ends = [value(this.x, from), value(this.x, to)];
      const bottom = top + height;
      return ticks(this.x, ends[0], ends[1], width > 500 ? 10 : 4).flatMap((tick) => {
        const x = left + ((place(this.x, tick) - from) / (to - from)) * width;
        const text = shown({ ...this.x, title: "" }, tick).trim();
        return [make("path", { d: `M${x} ${bottom}v4` }),
          make("text", { x, y: bottom + 17, "text-anchor": "middle" }, text)];
      });
    }

    // ---- Export ---------------------------------------------------------------------------

    csv() {
      const cell = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
      const x = { time: "seconds", tail: "minus_log10_of_rest" }[this.x.quantity] || this.x.title;
      const y = { latency: "ns", bytes: "bytes" }[this.y.quantity] || this.y.title;
      const lines = [["series", "part", x, "low", y].map(cell).join(",")];
      for (const series of this.series) {
        series.x.forEach((at, n) => {
          const low = series.low ? series.low[n] : null;
          const word = this.x.quantity === "word" && this.x.labels.find(([place]) => place === at);
          const cells = [cell(series.name), cell(series.part), word ? cell(word[1]) : at, low ?? "",
            series.y[n] ?? ""];
          lines.push(cells.join(","));
        });
      }
      return `${lines.join("\n")}\n`;
    }

    async copy(control) {
      await copied(control, this.csv());
    }

    // The drawing as a file: the page's styles are written into each element.
    svg() {
      const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
        "stroke-linejoin", "opacity", "display", "font-size", "font-family", "vector-effect"];
      const { svg } = this.drawing() || this.drawings[0];
      const copy = svg.cloneNode(true);
      const [here, there] = [svg, copy].map((of) => [of, ...of.querySelectorAll("*")]);
      here.forEach((element, n) => {
        const style = getComputedStyle(element);
        there[n].setAttribute("style", KEPT.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
      });
      const box = svg.viewBox.baseVal;
      copy.setAttribute("width", box.width);
      copy.setAttribute("height", box.height);
      const page = getComputedStyle(document.body).backgroundColor;
      copy.prepend(make("rect", { width: "100%", height: "100%", style: `fill:${page}` }));
      return new XMLSerializer().serializeToString(copy);
    }

    download() {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([this.svg()], { type: "image/svg+xml" }));
      link.download = `${this.figure.id}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
  }

  const sharesTime = (one, other) => one.x.quantity === "time" && other.x.quantity === "time";

  // Charts over time share one crosshair.
  const moveAll = (chart, x, aloud) => {
    chart.move(x, aloud);
    if (chart.x.quantity !== "time") return;
    for (const other of charts) {
      if (other !== chart && other.x.quantity === "time") {
        other.move(x === null ? null : other.nearest(x), false);
      }
    }
  };

  const theme = () => {
    const dark = () => document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    const name = () => (dark() ? "Light" : "Dark");
    const control = button(name(), () => {
      document.documentElement.dataset.theme = dark() ? "light" : "dark";
      control.textContent = name();
    });
    control.className = "theme";
    return control;
  };

  // The answer as a sentence to copy; the theme.
  const acts = () => {
    const all = document.createElement("div");
    all.className = "acts";
    const sentence = document.querySelector(".sentence");
    if (sentence) {
      const control = button("Copy result", () => copied(control, sentence.textContent.trim()));
      all.append(control);
    }
    all.append(theme());
    document.querySelector("header").append(all);
  };

  // A link to a folded part opens it; one button opens all.
  const folds = () => {
    const all = [...document.querySelectorAll(".folds > details")];
    if (all.length === 0) return;
    const control = button("Unfold all", () => {
      const open = all.some((of) => !of.open);
      all.forEach((of) => { of.open = open; });
      control.textContent = open ? "Fold all" : "Unfold all";
    });
    control.className = "unfold";
    all[0].before(control);
    const follow = () => {
      const named = location.hash && document.getElementById(location.hash.slice(1));
      const fold = named && named.closest("details");
      if (fold) fold.open = true;
    };
    addEventListener("hashchange", follow);
    follow();
  };

  // Paper cannot be unfolded: folded parts are opened for printing.
  const paper = () => {
    let folded = [];
    addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll("details:not([open])")];
      folded.forEach((of) => { of.open = true; });
    });
    addEventListener("afterprint", () => folded.forEach((of) => { of.open = false; }));
  };

  acts();
  folds();
  paper();
  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure));
  document.documentElement.dataset.ready = String(charts.length);
})();
