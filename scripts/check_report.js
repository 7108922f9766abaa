"use strict";

// What scripts/check_report.sh runs in a browser: it opens page.html beside it in frames and collects what is wrong.

function scrolls(element) {
  for (let e = element.parentElement; e !== null; e = e.parentElement) {
    if (e.ownerDocument.defaultView.getComputedStyle(e).overflowX !== "visible" && e.tagName !== "BODY") return true;
  }
  return false;
}

function tooWide(page, width) {
  const root = page.documentElement;
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  if (page.defaultView.innerWidth !== width) return [`the frame is ${page.defaultView.innerWidth} px wide`];
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...page.body.querySelectorAll("*")]
    .filter(e => e.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(e))
    .map(e => `<${e.tagName.toLowerCase()} id="${e.id}" class="${e.getAttribute("class") ?? ""}"> ends at ` +
      `${Math.round(e.getBoundingClientRect().right)} px: ${e.textContent.trim().slice(0, 60).replace(/\s+/g, " ")}`);
  return [`the page is ${root.scrollWidth} px wide`, ...wide.slice(0, 10)];
}

// Pointing into a drawing shows a value of each line there, inside the page.
function hovering(page, width) {
  const faults = [];
  for (const plot of page.querySelectorAll(".plot")) {
    const box = plot.querySelector("svg").getBoundingClientRect();
    let shown = 0;
    for (const share of [0.2, 0.35, 0.5, 0.65, 0.8, 0.96]) {
      const place = {clientX: box.left + share * box.width, clientY: box.top + box.height / 2, bubbles: true};
      plot.dispatchEvent(new page.defaultView.PointerEvent("pointermove", place));
      const values = plot.querySelector(".values");
      if (values === null || values.hidden) continue;
      if (/\S+ [-\d.e]+.+: [-\d.e]+/s.test(values.textContent)) shown += 1;
      faults.push(...tooWide(page, width).map(fault => `with values shown, ${fault}`));
    }
    if (shown === 0) faults.push("pointing at a figure shows no values");
    plot.dispatchEvent(new page.defaultView.PointerEvent("pointerleave"));
    if (plot.querySelector(".values")?.hidden === false) faults.push("the values stay when the pointer leaves");
  }
  return faults;
}

function isShown(part) {
  return part !== null && part.ownerDocument.defaultView.getComputedStyle(part).display !== "none";
}

// A click on an entry of a key hides its line and no other; another click shows it again.
function hiding(page) {
  const faults = [];
  const entries = [...page.querySelectorAll(".key li")];
  const partsOf = entry => entry.dataset.parts.split(" ").map(id => page.getElementById(id));
  for (const entry of entries.slice(0, 20)) {
    const button = entry.querySelector("button");
    const shown = () => entries.filter(other => partsOf(other).every(isShown));
    const before = shown().length;
    button?.click();
    const hidden = partsOf(entry).every(part => !isShown(part)) && shown().length === before - 1;
    button?.click();
    if (!hidden || shown().length !== before) faults.push(`a click does not hide ${entry.textContent.trim()} alone`);
  }
  return faults;
}

// A click on a heading sorts the rows by that column, another one the other way round.
function sorting(page) {
  const faults = [];
  const plain = text => /^-?[\d.]+(e-?\d+)?$/.test(text);
  for (const table of page.querySelectorAll("table.sortable")) {
    const rows = () => [...table.tBodies[0].rows];
    for (let column = 0; column < table.tHead.rows[0].cells.length; ++column) {
      const texts = () => rows().map(row => row.cells[column].textContent.trim());
      const before = texts().sort().join();
      for (const direction of [1, -1]) {
        table.tHead.rows[0].cells[column].querySelector("button")?.click();
        const numbers = texts().filter(plain).map(Number);
        const sorted = numbers.every((x, k) => k === 0 || direction * (x - numbers[k - 1]) >= 0);
        const said = table.tHead.rows[0].cells[column].getAttribute("aria-sort");
        if (!sorted || said !== (direction === 1 ? "ascending" : "descending") || texts().sort().join() !== before) {
          faults.push(`a click does not sort by ${table.tHead.rows[0].cells[column].textContent}`);
        }
      }
    }
  }
  return faults;
}

function fetched(page) {
  const addresses = page.defaultView.performance.getEntriesByType("resource").map(entry => entry.name);
  const named = [...page.querySelectorAll("[src], link[href], object[data]")].map(element => element.outerHTML);
  return [...new Set([...addresses, ...named])].map(what => `it fetches ${what.slice(0, 100)}`);
}

function textOf(page) {
  const copy = page.body.cloneNode(true);
  for (const script of copy.querySelectorAll("script")) script.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

async function open(width, rights) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0`;
  if (rights !== undefined) frame.setAttribute("sandbox", rights);
  const loaded = new Promise(done => frame.onload = done);
  frame.src = "page.html";
  document.body.append(frame);
  await loaded;
  return frame;
}

async function check() {
  const lines = [];
  const add = (width, faults) => lines.push(...new Set(faults.map(fault => `fault: at ${width} px: ${fault}`)));
  for (const width of [390, 1280]) {
    const bare = await open(width, "allow-same-origin");
    const frame = await open(width);
    const page = frame.contentDocument;
    if (page.body.childElementCount === 0) {
      add(width, ["the page is empty"]);
    } else {
      add(width, fetched(page));
      if (textOf(bare.contentDocument) !== textOf(page)) add(width, ["without scripts it says something else"]);
      add(width, tooWide(bare.contentDocument, width).map(fault => `without scripts, ${fault}`));
      add(width, [...tooWide(page, width), ...hovering(page, width), ...hiding(page), ...sorting(page)]);
    }
    bare.remove();
    frame.remove();
  }
  document.getElementById("faults").textContent = ["", ...lines, "checked", ""].join("\n");
}

check();
