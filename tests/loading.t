#!/bin/bash
# A program that takes a while to open: how far it is, and leaving meanwhile.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
"$make" wide 120000 wide.pte

for how in Escape q C-c; do
	open 80 24 wide.pte
	sees "$how: says how far it is" '^opening: .*[0-9]+ %, [0-9]+ s'
	keys "$how"
	sees "$how: ends it" '^status (0|130)$'
	[ "$($tmux display-message -p '#{alternate_on}')" = 0 ]; ok "$how: the main screen"
done
for sig in TERM HUP SEGV; do
	open 80 24 wide.pte
	waits '^opening: '
	kill -"$sig" "$(child)"
	sees "SIG$sig: ends it" '^status 1[0-9]+'
	[ "$($tmux display-message -p '#{alternate_on}')" = 0 ]; ok "SIG$sig: the main screen"
done
"$make" wide 60000 wide.pte
open 60 12 wide.pte
waits '^opening: '
$tmux resize-window -x 100 -y 30
sees 'draws on another size' 'wide.pte'
sees 'and shows the pages' 'wide.pte .* forward .*XNNPACK'
keys q
sees 'which are quit as ever' '^status 0'

# What is no program says so, on the screen as it was.
head -c 3000000 wide.pte >cut.pte
open 80 24 cut.pte
sees 'a broken file' 'etinspect: cut.pte: '
sees 'with its status' '^status 3'
locale=C open 80 24 wide.pte
sees 'ASCII' '^##+ *$'
keys q
finish
