#!/bin/bash
# The `:` line: commands, options, completion, history.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
"$make" posconv posconv.pte
"$make" methods methods.pte

# step KEYS PATTERN: presses, and waits for what it must show
step() { keys $1; sees "$1: $2" "$2"; }
# line TEXT PATTERN: a line of commands, and what comes of it
line() {
	keys :; waits '^:'
	keys -l -- "$1"; waits "^:.*$(printf %s "${1##* }" | tr '][().*^$+?{}|\\' .)"
	keys Enter; sees ":$1: $2" "$2"
}

open 80 24 --threads 2 --max-time 1 posconv.pte
waits 'nodes'
step ':' '^:$'
keys -l 'goto '
sees 'says what it takes' '^:goto +NODE: to a node'
step 'Escape' 'nodes'
line 'goto forward/5' '^> +5 .*convolution'
line 'goto 3' '^> +3 .*div'
line 'goto pow' '^> +0 .*pow'
line 'goto pow' '^> +2 .*pow'
line 'goto constant2' '^> .*constant2'
line 'goto nowhere' "no node, operator or constant is called .nowhere."
step 'BSpace' '^> +2 .*pow'
line 'nothing' "no command is called .nothing.; Tab shows"
line 'page-3' 'weight_not_static'
line 'explain forward/5' '^>forward/5  aten.convolution'
sees 'as --explain does' '  in short '
step '/' '^/'
keys -l 'arguments'
sees 'searched like any page' '^> +arguments'
step 'Enter' '1 of '
step 'e' 'Write this page to: Text.txt'
step 'Enter' 'written to Text.txt'
is 'what --explain prints' "$(head -n 1 Text.txt)" "$("$et" --explain forward/5 posconv.pte | head -n 1)"
step 'BSpace' 'Grouped by|weight_not_static'
line 'version' 'rules of executorch'
line 'report csv' 'method,node|^>.*,'
line 'table constants' 'constant0'
line 'fail-on declined>0' 'a budget is broken'
line 'fail-on declined>99' 'all of the budget is kept'
line 'report --baseline nowhere.json' 'nowhere.json: cannot open'
line 'dot' 'digraph'
line 'list-ops' 'aten::'
line 'manual' 'TH ETINSPECT'

# Completion and history.
step ':' '^:$'
keys -l 'app'
step 'Tab' '^:apply +LIST: any of'
step 'Tab' '^:apply +fold linear partition'
keys -l 'fo'
step 'Tab' '^:apply fold'
step 'Enter' 'same outputs'
step ':' '^:$'
step 'Up' '^:apply fold'
step 'Up' '^:manual'
step 'Down' '^:apply fold'
step 'Down' '^:$'
keys -l 'xy'
step 'Home' '^:xy'
keys -l 'z'
sees 'typed at the cursor' '^:zxy'
step 'End' '^:zxy'
step 'C-w' '^:$'
step 'C-g' '^Text|[0-9]+ of'
step 'u' 'undone'

# Settings.
line 'threads 1' 'set for the runs to come'
sees 'one thread' '1 thread$'
line 'set threads 2' '2 threads$'
line 'runs 0' 'runs takes a whole number'
line 'set key quit Q' 'set, until the program ends'
step 'q' '[0-9]+ of'
line 'set columns Graph operator runs-on' 'set, until'
step '2' '^ +operator +runs on$'
line 'set columns Graph nowhere' 'Graph has no column .nowhere.'
line 'set color bad magenta' 'set, until'
line 'input score:x.npy' 'no method .score.'
line 'force' 'nothing to do'
line 'apply fold --bench' 'one thing a line'
line 'verify' 'nothing was changed'
line 'search pow' '/pow +'
line 'filter op:pow' 'filter: op:pow'
line 'filter (' 'Unmatched'
step 'Escape' 'Enter follow'

# Work.
line 'optimize' 'same outputs'
line 'write new.pte' 'written to new.pte'
line 'write new.pte' 'new.pte is there already'
step 'n' 'Enter follow'
line '-o new.pte --force --allow-worse' 'written to new.pte'
line 'export page.txt' 'written to page.txt'
line 'export page.txt' 'page.txt is there already'
step 'y' 'written to page.txt'
line 'bench --runs 2' 'same outputs'
sees 'on its page' 'after'
line 'trace x.json' 'written to x.json|was measured'
line 'verify' 'same outputs'
line 'Q' '^status 0'

open 80 24 --threads 2 methods.pte
waits 'nodes'
line 'method score' 'score \(2 of 2\)'
line 'goto relu' 'forward \(1 of 2\)'
line 'quit' '^status 0'
finish
