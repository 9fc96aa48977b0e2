#!/bin/bash
# Each page at its sizes, edits, runs, and how the terminal is given back.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
cp "$demo" demo.pte

# Each page of the demo at 80x24.
open 80 24 --threads 2 demo.pte
screen 'opens on the overview' screen_overview.txt
keys 2
screen 'graph' screen_graph.txt
keys ']' ']'
screen 'graph: the next declined node' screen_graph_declined.txt
keys Right Enter
screen 'graph: follows an input' screen_graph_follow.txt
keys BSpace
screen 'graph: and back' screen_graph_back.txt
keys /
sees 'asks what to search' '^/'
keys linear Enter
screen 'graph: finds' screen_graph_search.txt
keys 3
screen 'declined' screen_declined.txt
keys t
sees 'declined by operator' 'aten.convolution.d'
keys 4
screen 'fold' screen_fold.txt
keys Space
sees 'a candidate without its mark' '\[ \] forward'
keys k Space
sees 'and with it again' '\[x\] forward'
keys 5
screen 'linear' screen_linear.txt
keys 6
screen 'bench before any run' screen_bench_empty.txt
keys 7
screen 'memory' screen_memory.txt
keys 8
screen 'constants' screen_constants.txt
keys '?'
screen 'help' screen_help.txt

# Fixing, undoing, writing.
keys 1 f
sees 'compares the outputs' 'same outputs, largest difference'
keys 1
screen 'folded' screen_folded.txt
keys u
sees 'undone' 'undone; r brings it back'
sees 'the convolutions are back' 'slow +forward'
keys u
sees 'no further' 'nothing to undo'
keys r
sees 'done again' 'done again'
keys f
sees 'nothing more to fold' 'nothing to fold'
keys q
sees 'asks before it forgets an edit' 'not written. Quit\? y/n'
keys n w
sees 'asks for a name' 'Write to: demo.fast.pte'
keys Enter
sees 'writes' 'written to demo.fast.pte'
[ "$(stat -c %s demo.fast.pte)" -le "$(stat -c %s demo.pte)" ]; ok 'a file no larger than before'
keys w Enter
sees 'asks before it replaces' 'is there already. Replace it\?'
keys n e
sees 'asks where to export' 'Write this page to: Overview.txt'
keys Enter
sees 'exports' 'written to Overview.txt'
grep -q 'no kernel call is left' Overview.txt; ok 'the page as text'

# Benching does not freeze the keys, and can be stopped.
keys b
sees 'runs' 'Esc stops'
keys 2
sees 'while the pages turn' '^ +node graph'
keys Escape
sees 'stops' 'stopped'
keys 6 b
sees 'times before and after' '^ forward +after .*[mu]s .*[mu]s .*[mu]s'
sees 'and ends' 'same outputs, largest difference'
capture | grep -E '^.forward +before .*(us|ms) .*(us|ms) .*(us|ms)' >/dev/null; ok 'all three engines'
keys u 3
sees 'what is declined by what was measured' 'operator +measured'
keys m
sees 'and by the estimate again' 'operator +estimate'
keys r q
sees 'quits: it was written' 'status 0'
sees 'with the screen as it was' '^status 0'

# A child that dies is a red row with its reason, and the others go on.
open 80 24 --threads 2 --runs 1000000 --max-time 100 demo.pte
waits 'slow'; keys b
for engine in filed portable xnnpack; do
	waits "timing forward before, $engine" && kill -ABRT "$(child "$(child)")"
done
sees 'all three died' '^>forward +before +SIGABRT +SIGABRT +SIGABRT'
sees 'and how' '^xnnpack +failed: the XNNPACK worker died \(SIGABRT\) while'
colored $'\e\\[31m'; ok 'in red'
keys q
sees 'the program lives' 'status 0'

# A large program: edits work in the background, and can be stopped.
"$make" heavy 20000 heavy.pte
open 80 24 --threads 2 heavy.pte
waits 'portable'; keys 2 G
sees 'scrolls to the end of 20,200 nodes' '^> 20199'
keys p
sees 'works on an edit' 'making calls, [0-9]+ %, .*Esc stops'
keys g
sees 'while the list scrolls' '^> +● +input0'
keys u
sees 'one at a time' 'still going on; Esc stops it'
keys Escape
sees 'stops it' 'stopped; nothing was changed'
keys q
sees 'nothing to save' 'status 0'

# Sizes.
open 40 10 --threads 2 demo.pte
screen 'a small screen' screen_small.txt
$tmux resize-window -x 100 -y 30
sees 'grows' 'XNNPACK YYYY-MM  2 threads'
$tmux resize-window -x 15 -y 4
sees 'says when it is too small' 'too small'
$tmux resize-window -x 80 -y 24
screen 'and comes back' screen_overview.txt
keys q
sees 'quits at once without an edit' 'status 0'

# Without UTF-8, and without a terminal worth the name.
locale=C open 80 24 --threads 2 demo.pte
waits 'slow'; keys 2
screen 'ASCII' screen_ascii.txt
keys q
term=dumb open 80 60 demo.pte
sees 'a dumb terminal gets the report' 'Fix: .*etinspect --apply'

# The terminal is given back on signals.
for sig in TERM HUP SEGV; do
	open 80 24 demo.pte
	waits 'slow'
	kill -"$sig" "$(child)"
	sees "SIG$sig: the screen is given back" '^status [0-9]+'
	keys 'echo' ' ' 'typed' Enter
	[ "$($tmux display-message -p '#{alternate_on}')" = 0 ]; ok "SIG$sig: the main screen"
done
finish
