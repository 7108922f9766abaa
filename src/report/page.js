"use strict";

// The report's page is complete without this script. With it, pointing at a figure shows its values, a click on an entry
// of a key hides that line, and a click on a heading of a table sorts the rows. Texts of the page come from users'
// files: they are only ever copied as text, never as markup.

// Where a value is on an axis [low, high, logarithmic]: 0 at its start, 1 at its end.
function fraction([low, high, logarithmic], value) {
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

// An entry of a key, with the parts of the drawing that it stands for.
class Line {
  constructor(entry) {
    this.entry = entry;
    this.points = JSON.parse(entry.dataset.points);  // [x, y] or [x, y, low, high]
    this.parts = entry.dataset.parts.split(" ").map(id => document.getElementById(id));
    this.name = entry.querySelector(".name").textContent;
    this.hidden = false;
    const button = element("button", "");
    button.type = "button";
    button.title = "hide or show this line";
    button.append(...entry.childNodes);
    button.addEventListener("click", () => this.toggle());
    entry.append(button);
    this.button = button;
    this.mark();
  }

  toggle() {
    this.hidden = !this.hidden;
    this.mark();
  }

  mark() {
    this.button.setAttribute("aria-pressed", String(!this.hidden));
    this.entry.classList.toggle("hidden", this.hidden);
    for (const part of this.parts) part.style.display = this.hidden ? "none" : "";
  }
}

class Panel {
  constructor(figure) {
    this.plot = figure.querySelector(".plot");
    this.drawing = this.plot.querySelector("svg");
    this.frame = JSON.parse(this.plot.dataset.frame);
    this.x = JSON.parse(this.plot.dataset.x);
    this.lines = [...figure.querySelectorAll(".key li")].map(entry => new Line(entry));
    this.cursor = element("div", "cursor");
    this.values = element("div", "values");
    this.plot.append(this.cursor, this.values);
    this.leave();
    this.plot.addEventListener("pointermove", event => this.point(event));
    this.plot.addEventListener("pointerdown", event => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.leave());
  }

  leave() {
    this.cursor.hidden = this.values.hidden = true;
  }

  // The horizontal place of a value in the drawing's own units.
  place(x) {
    return this.frame.left + fraction(this.x, x) * (this.frame.right - this.frame.left);
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect();
    const pointer = (event.clientX - box.left) / box.width * this.frame.width;
    const near = this.lines.filter(line => !line.hidden).map(line => ({line, point: this.nearest(line, pointer)}));
    const distance = ({point}) => Math.abs(this.place(point[0]) - pointer);
    const closest = Math.min(...near.map(distance));
    if (!(closest < 40)) return this.leave();
    const shown = near.filter(one => distance(one) < closest + 4).sort((a, b) => b.point[1] - a.point[1]);
    this.show(shown, box.width / this.frame.width);
  }

  nearest(line, pointer) {
    return line.points.reduce((best, point) =>
      Math.abs(this.place(point[0]) - pointer) < Math.abs(this.place(best[0]) - pointer) ? point : best);
  }

  show(shown, scale) {
    const x = shown[0].point[0];
    const rows = shown.map(({line, point}) => {
      const row = element("div", "");
      const sample = line.entry.querySelector("svg").cloneNode(true);
      const band = point.length > 2 ? ` (${point[2]} to ${point[3]})` : "";
      row.append(sample, `${line.name}: ${point[1]}${band}`);
      return row;
    });
    this.values.replaceChildren(element("strong", "", `${this.plot.dataset.label} ${x}`), ...rows);
    this.cursor.hidden = this.values.hidden = false;
    const place = this.place(x) * scale;
    this.cursor.style.left = `${place}px`;
    this.cursor.style.top = `${this.frame.top * scale}px`;
    this.cursor.style.height = `${(this.frame.bottom - this.frame.top) * scale}px`;
    const width = this.values.offsetWidth;
    const left = place + 12 + width <= this.plot.clientWidth ? place + 12 : place - 12 - width;
    this.values.style.left = `${Math.max(0, Math.min(left, this.plot.clientWidth - width))}px`;
  }
}

// The number that a cell starts with, such as 5e-15 of "(5.0 ± 0.2)e-15"; NaN where there is none.
function number(text) {
  const start = /^\(?([-−]?[\d.]+(?:e[-+]?\d+)?)/.exec(text);
  if (start === null) return NaN;
  const power = /^\([^)]*\)e([-+]?\d+)/.exec(text);
  return Number(start[1].replace("−", "-")) * (power === null ? 1 : 10 ** Number(power[1]));
}

// Numbers by size, then texts, in this or the other direction; cells that say nothing come last in both.
function compareCells(a, b, direction) {
  const [x, y] = [number(a), number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return direction * (x - y);
  const rank = (text, value) => !Number.isNaN(value) ? 0 : ["", "–", "n/a"].includes(text) ? 2 : 1;
  return rank(a, x) - rank(b, y) || direction * a.localeCompare(b);
}

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = element("button", "");
    button.type = "button";
    button.title = "sort by this column";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      const text = row => row.cells[column].textContent.trim();
      rows.sort((a, b) => compareCells(text(a), text(b), down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}

for (const figure of document.querySelectorAll("figure")) new Panel(figure);
for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
