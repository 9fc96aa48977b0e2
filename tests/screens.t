#!/bin/bash
# Every page at two sizes: of the demo, of a positional convolution, and of a program with two methods.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
mkdir -p "$expected/pages"
cd "$tmp" || exit 1
cp "$demo" demo.pte
"$make" posconv posconv.pte
"$make" methods methods.pte

for kind in demo posconv methods; do
	for size in '80 24' '120 40'; do
		[ "$kind $size" = 'demo 80 24' ] && continue	# tui.t has these
		open $size --threads 2 $kind.pte
		waits 'nodes'
		for page in 1 2 3 4 5 6 7 8; do
			keys $page
			screen "$kind at ${size/ /x}, page $page" "pages/${kind}_${size/ /x}_$page.txt"
		done
		keys q
	done
done

open 80 24 --threads 2 methods.pte
waits 'nodes'
keys 2 Tab
sees 'the next method' 'score \(2 of 2\)'
keys Tab
sees 'and round to the first' 'forward \(1 of 2\)'
finish
