#!/bin/bash
# One long session, key by key and screen by screen: opens, explains, folds, undoes, redoes, converts, benches, stops a
# bench, writes and quits. UNDER="valgrind ..." runs the program under something that looks on.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
"$make" posconv posconv.pte
"$make" methods methods.pte
et="${UNDER:-} $et"

# step KEYS PATTERN: presses, and waits for what it must show
step() { keys $1; sees "$1: $2" "$2"; }

open 80 24 --threads 2 --max-time 1 posconv.pte
sees 'opens' 'slow +forward/5'
step '?' 'next line'
step 'BSpace' 'slow +forward/5'
step 'j' '2 of '
step 'j' '3 of '
step 'G' 'memory'
step 'g' '1 of '
step '2' '^> +● +'
step ']' '^> +[0-9]+ '
step ']' 'pow|sum'
step '[' '^> +0 '
step '/' '^/'
keys -l convolution
step 'Enter' '^> +5 '
sees 'explains' 'Its weight is|its weight is'
step 'J' 'forward'
step 'K' 'convolution'
step 'Left' 'read'
step 'Right' 'reads'
step 'Enter' 'of 1[0-9]'
step 'BSpace' '^> +5 '
step 'z' 'Module convolution|nodes; z shows'
step 'z' 'sum'
step 'c' 'of [0-9]'
step 'c' 'constant'
step '3' 'weight_not_static'
step 't' 'nodes? '
step 't' 'node'
step 't' 'convolution'
step 't' 'no_rule'
step 's' 'node|\^'
step '4' '\[x\] forward/5'
step 'Space' '\[ \] forward/5'
step 'k' 'verdict'
step 'Space' '\[x\]'
step 'a' 'same outputs'
step '1' 'no kernel call is left|left out +nothing|nodes'
step 'u' 'undone'
step '4' '\[x\] forward/5'
step 'u' 'nothing to undo'
step 'r' 'done again'
step 'r' 'nothing to redo'
step 'u' 'undone'
step 'f' 'same outputs'
step '5' 'no matrix products'
step 'l' 'nothing to make linear'
step '6' 'Nothing was timed'
step 'b' 'Esc stops'
step '7' 'skyline'
step '2' 'graph'
step 'Escape' 'stopped'
step '6' 'what'
step 'b' 'same outputs'
sees 'before and after' 'after'
step 's' 'what \^'
step 's' 'state'
step '7' 'peak'
step 'j' '2 of'
step '8' 'bytes'
step 'j' 'of'
step 'e' 'Write this page to: Constants.txt'
step 'Enter' 'written to Constants.txt'
step 'q' 'not written. Quit'
step 'n' 'of'
step 'w' 'Write to: posconv.fast.pte'
step 'Enter' 'written to posconv.fast.pte'
step 'w' 'Write to'
step 'Escape' 'of'
step 'q' '^status 0'

# Products that become linears.
open 80 24 --threads 2 --max-time 1 methods.pte
sees 'opens two methods' 'method +score'
step '5' 'mm'
step 'Tab' '2 of 2'
step 'l' 'same outputs|nothing to make linear'
step 'u' 'undone|nothing'
step 'o' 'same outputs'
step 'w' 'Write to: methods.fast.pte'
step 'Enter' 'It is larger than before.* Write it'
step 'y' 'written to methods.fast.pte'
step 'q' '^status 0'
finish
