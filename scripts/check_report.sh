#!/usr/bin/env bash
# scripts/check_report.sh REPORT.html...: opens each page as a phone and as a laptop do, and fails where something is
# wider than the screen. First it makes sure that it would notice.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
(($#)) || fail "usage: scripts/check_report.sh REPORT.html..."
need "$report_needs"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
browser=(chromium --headless=new --disable-gpu --user-data-dir="$scratch/profile" --allow-file-access-from-files
  --virtual-time-budget=10000 '--window-size=1400,1000')
((EUID != 0)) || browser+=(--no-sandbox)

# Frames, since a browser's window cannot be as narrow as a phone.
cat >"$scratch/measure.html" <<'PAGE'
<!DOCTYPE html>
<meta charset="utf-8">
<body><pre id="faults"></pre>
<script>
function scrolls(element) {
  for (let e = element.parentElement; e !== null; e = e.parentElement) {
    if (e.ownerDocument.defaultView.getComputedStyle(e).overflowX !== "visible" && e.tagName !== "BODY") return true;
  }
  return false;
}
function faults(frame, width) {
  const page = frame.contentDocument;
  const root = page.documentElement;
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  if (page.body.childElementCount === 0) return ["the page is empty"];
  if (frame.contentWindow.innerWidth !== width) return [`the frame is ${frame.contentWindow.innerWidth} px wide`];
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...page.body.querySelectorAll("*")]
    .filter(e => e.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(e))
    .map(e => `<${e.tagName.toLowerCase()} id="${e.id}" class="${e.getAttribute("class") ?? ""}"> ends at ` +
      `${Math.round(e.getBoundingClientRect().right)} px: ${e.textContent.trim().slice(0, 60).replace(/\s+/g, " ")}`);
  return [`the page is ${root.scrollWidth} px wide`, ...wide.slice(0, 10)];
}
async function measure() {
  const lines = [];
  for (const width of [390, 1280]) {
    const frame = document.createElement("iframe");
    frame.style = `width: ${width}px; height: 900px; border: 0`;
    frame.src = "page.html";
    const loaded = new Promise(done => frame.onload = done);
    document.body.append(frame);
    await loaded;
    lines.push(...faults(frame, width).map(fault => `fault: at ${width} px: ${fault}`));
    frame.remove();
  }
  document.getElementById("faults").textContent = ["", ...lines, "measured", ""].join("\n");
}
measure();
</script>
PAGE

# What is too wide on a page, a line each.
too_wide() {
  local dom
  cp -- "$1" "$scratch/page.html"
  dom=$("${browser[@]}" --dump-dom "file://$scratch/measure.html" 2>"$scratch/errors") || {
    cat "$scratch/errors" >&2
    fail "chromium cannot open $1"
  }
  grep -qx measured <<<"$dom" || fail "chromium has not measured $1"
  sed -n 's/^fault: //p' <<<"$dom" | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

echo '<!DOCTYPE html><body><div id="planted" style="width: 2000px">wide</div></body>' >"$scratch/wide.html"
echo '<!DOCTYPE html><body><div style="overflow-x: auto"><div style="width: 2000px">scrolls</div></div></body>' \
  >"$scratch/narrow.html"
[[ $(too_wide "$scratch/wide.html") == *"at 390 px"*planted*"at 1280 px"*planted* ]] ||
  fail "check_report.sh does not notice a page that is too wide"
[[ -z $(too_wide "$scratch/narrow.html") ]] || fail "check_report.sh refuses a table that scrolls"

for page in "$@"; do
  [[ -f $page ]] || fail "there is no file $page"
  faults=$(too_wide "$page")
  [[ -z $faults ]] || fail "$page"$'\n'"$faults"
  echo "$page: nothing is too wide at 390 and 1280 px"
done
