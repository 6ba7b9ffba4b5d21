#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vocabulary.sh TREE SPARC: no word that CONTRIBUTING.md lists as replaced occurs in README.md, docs/*.md, the man page,
# public headers, or the help texts of the tool. Prints each occurrence; checks first that it detects planted ones.
set -euo pipefail

tree=$1 sparc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the words in backticks of the first column
sed -n '/^<!-- replaced words -->$/,/^<!-- end of replaced words -->$/p' "$tree/CONTRIBUTING.md" |
  awk -F'|' '/^\| `/ { print $2 }' | grep -o '`[^`]*`' | tr -d '`' >"$work/words"
[ "$(wc -l <"$work/words")" -ge 4 ] || { echo "CONTRIBUTING.md has no table of replaced words"; exit 1; }

# occurrences FILE...: "file:line: word". A blank of a phrase may be a line break, also of a comment or of mdoc text
occurrences() {
  perl -0777 -e '
    open my $list, "<", shift or die;
    my @words = split /\n/, <$list>;
    for my $path (@ARGV) {
      open my $file, "<", $path or die "$path: $!";
      (my $text = <$file>) =~ s/\bFl Fl /--/g; # mdoc
      for my $word (@words) {
        my $pattern = join "[\\s*]+", map quotemeta, split / /, $word;
        while ($text =~ /(?<![\w-])$pattern(?![\w-])/gi) {
          print "$path:", 1 + (substr($text, 0, $-[0]) =~ tr/\n//), ": $word\n";
        }
      }
    }' "$work/words" "$@"
}

# every word is detected, broken over the lines of a comment if it is a phrase
while read -r word; do
  printf '/* text %s text */\n' "${word// /$'\n * '}" >"$work/planted"
  occurrences "$work/planted" | grep -qxF "$work/planted:1: $word" || { echo "a planted '$word' is not detected"; exit 1; }
done <"$work/words"

"$sparc" --help >"$work/sparc"
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/sparc")
[ "${#commands[@]}" -ge 10 ] || { echo "sparc --help lists ${#commands[@]} commands"; exit 1; }
for command in "${commands[@]}"; do
  case $command in help | version) continue ;; esac
  "$sparc" "$command" --help >"$work/sparc-$command"
done

found=$(occurrences "$tree/README.md" "$tree"/docs/*.md "$tree/docs/man/sparc.1" "$tree"/include/sparc/*.h "$work"/sparc*)
if [ -n "$found" ]; then
  echo "Replaced words (CONTRIBUTING.md, Vocabulary); in $work are help texts:"
  echo "$found"
  exit 1
fi
echo "$(wc -l <"$work/words") replaced words, ${#commands[@]} commands: none found"
