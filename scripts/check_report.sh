#!/usr/bin/env bash
# scripts/check_report.sh REPORT.html...: opens each page as a phone and as a laptop do, with scripts and without. Fails
# where something is wider than the screen or is fetched from elsewhere, where the page says less without scripts, or
# where values do not appear, lines do not hide or tables do not sort. First it makes sure that it would notice.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
(($#)) || fail "usage: scripts/check_report.sh REPORT.html..."
need "$report_needs"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
browser=(chromium --headless=new --disable-gpu --user-data-dir="$scratch/profile" --allow-file-access-from-files
  --virtual-time-budget=60000 '--window-size=1400,1000')
((EUID != 0)) || browser+=(--no-sandbox)

# Frames, since a browser's window cannot be as narrow as a phone.
cp -- "$root/scripts/check_report.js" "$scratch"
cat >"$scratch/check.html" <<'PAGE'
<!DOCTYPE html>
<meta charset="utf-8">
<body><pre id="faults"></pre><script src="check_report.js"></script>
PAGE

# What is wrong with a page, a line each.
faults_of() {
  local dom
  cp -- "$1" "$scratch/page.html"
  dom=$("${browser[@]}" --dump-dom "file://$scratch/check.html" 2>"$scratch/errors") || {
    cat "$scratch/errors" >&2
    fail "chromium cannot open $1"
  }
  grep -qx checked <<<"$dom" || fail "chromium has not checked $1"
  sed -n 's/^fault: //p' <<<"$dom" | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

# plant NAME BODY: a small page to try the check on.
plant() {
  printf '<!DOCTYPE html><meta charset="utf-8"><body>%s</body>' "$2" >"$scratch/$1.html"
}

# expect NAME PATTERN...: each pattern must be among the faults of that page; without patterns there must be none.
expect() {
  local faults pattern
  faults=$(faults_of "$scratch/$1.html")
  (($# > 1)) || [[ -z $faults ]] || fail "check_report.sh refuses a good page ($1):"$'\n'"$faults"
  for pattern in "${@:2}"; do
    [[ $faults == *$pattern* ]] || fail "check_report.sh does not notice '$pattern' ($1)"
  done
}

plant wide '<div id="planted" style="width: 2000px">wide</div>'
plant narrow '<div style="overflow-x: auto"><div style="width: 2000px">scrolls</div></div>'
plant fetching '<p>x</p><img src="elsewhere.png">'
plant scripted '<p id="p">x</p><script>document.getElementById("p").textContent = "y"</script>'
plant dead '<div class="plot"><svg viewBox="0 0 4 3"><g id="a"></g></svg></div>
  <ul class="key"><li data-parts="a">line</li></ul>
  <table class="sortable"><thead><tr><th>rate</th></tr></thead><tbody><tr><td>2</td></tr><tr><td>1</td></tr></tbody></table>'
expect wide "at 390 px: the page is" planted "at 1280 px: the page is"
expect narrow
expect fetching "it fetches"
expect scripted "without scripts it says something else"
expect dead "shows no values" "does not hide line" "does not sort by rate"

for page in "$@"; do
  [[ -f $page ]] || fail "there is no file $page"
  faults=$(faults_of "$page")
  [[ -z $faults ]] || fail "$page"$'\n'"$faults"
  echo "$page: complete, fits 390 and 1280 px, and its figures and tables answer"
done
