# shellcheck shell=bash
# Sourced by tests/mutate and scripts/fuzz.sh: reads a list of mutations, in the format that tests/mutations.txt
# describes, and makes them in a copy of the tree.

# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"

# The names in the order of the list, and what it says of each.
names=()
declare -A file test old new

# read_mutations LIST: fills the arrays above.
# shellcheck disable=SC2034 # the scripts that source this one use them
read_mutations() {
  local line name='' number=0
  while IFS= read -r line; do
    number=$((number + 1))
    [[ -n $line && $line != '#'* ]] || continue
    if [[ $line =~ ^mutation\ +([^ ]+)$ ]]; then
      name=${BASH_REMATCH[1]}
      [[ ! -v old[$name] ]] || fail "$1:$number: a second mutation named $name"
      names+=("$name") old[$name]='' new[$name]=''
    elif [[ -z $name ]]; then
      fail "$1:$number: expected 'mutation NAME'"
    elif [[ $line =~ ^file\ +(.+)$ ]]; then
      file[$name]=${BASH_REMATCH[1]}
    elif [[ $line =~ ^test\ +(.+)$ ]]; then
      test[$name]=${BASH_REMATCH[1]}
    elif [[ $line == -* ]]; then
      old[$name]+=${line#-}$'\n'
    elif [[ $line == +* ]]; then
      new[$name]+=${line#+}$'\n'
    elif [[ $line != 'why '* ]]; then
      fail "$1:$number: expected file, test, why, -OLD or +NEW"
    fi
  done <"$1"
  for name in "${names[@]}"; do
    [[ -v file[$name] && -n ${old[$name]} ]] || fail "$1: $name needs a file and an old text"
  done
}

# copy_tree FOLDER: copies what git tracks or would track, with the times of the files.
copy_tree() {
  (cd "$root" && git ls-files -coz --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null) |
    tar -x -C "$1"
}

# make_mutation NAME FOLDER: in the copy in that folder. Fails unless the old text occurs there exactly once.
make_mutation() {
  OLD=${old[$1]%$'\n'} NEW=${new[$1]%$'\n'} perl -0777 -pi -e '
    my $at = index($_, $ENV{OLD});
    die if $at < 0 || index($_, $ENV{OLD}, $at + 1) >= 0;
    substr($_, $at, length $ENV{OLD}) = $ENV{NEW};' "$2/${file[$1]}" 2>/dev/null
}
