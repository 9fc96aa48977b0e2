#!/bin/bash
# Columns: chosen, kept, set in the configuration, sorted by, scrolled; and the page as text.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
"$make" posconv posconv.pte
mkdir etinspect

# step KEYS PATTERN: presses, and waits for what it must show
step() { keys $1; sees "$1: $2" "$2"; }
# lacks WHAT PATTERN: the screen, which is as it should be already, does not have it
lacks() { if capture | grep -Eq -- "$2"; then fail "$1" "$(capture)"; else pass "$1"; fi; }

open 80 24 --threads 2 posconv.pte
waits 'nodes'
step '|' 'no columns to choose'
step '2' '^> +●'
step '|' '>\[x\] node '
step 'j' '>\[x\] graph '
step 'Space' '>\[ \] graph'
step 'G' '>\[x\] why-not-XNNPACK '
step 'Space' '>\[ \] why-not-XNNPACK '
step 'Escape' 'Enter follow'
lacks 'two columns less' 'why not|graph'
step '/' '^/'
keys -l 'exponent'
sees 'what is hidden is not searched' 'not found'
step 'Escape' 'Enter follow'
step '3' 'why'
step '2' '^ +node +operator'
step '|' '>\[x\] node'
step 'j' '>\[ \] graph'
step '|' 'Enter follow'
step 's' 'node \^'
step 's' 'operator \^'
step 's' 'output \^'
step 'S' 'output v'
step 's' 'runs on \^'
step '>' '^> *[a-z]'
lacks 'scrolled' 'node +operator'
step '<' 'node +operator'
step '1' 'memory'
step '2' 'node +operator'
step 'f' 'same outputs'
step '2' 'node +operator'
lacks 'kept over an edit' 'why not|graph'
step 'q' 'not written'
step 'y' '^status 0'

# One column stays, in a list that is longer than the screen.
open 40 10 --threads 2 posconv.pte
waits 'nodes'
keys 8
waits 'bytes'
keys '|'
sees 'a list on a small screen' '>\[x\] bytes'
for i in 1 2 3 4 5 6 7 8 9; do keys Space j; done
sees 'scrolls' '>\[x\] name'
keys Space
sees 'the last one stays' 'one column stays'
keys q q
waits '^status 0'

# Of the configuration.
printf 'columns Graph operator runs-on\ncolumns Fold nowhere\n' >etinspect/config
open 80 24 --threads 2 posconv.pte
sees 'a column that is none' 'config:2: Fold has no column .nowhere.'
step '2' '^ +operator +runs on$'
step '|' '>\[ \] node '
step 'Space' '>\[x\] node '
step 'Enter' '^ +node +operator +runs on$'
step 'q' '^status 0'
rm etinspect/config

# The page as text, asked for before it replaces a file.
open 80 24 --threads 2 posconv.pte
waits 'nodes'
step '2' '^> +●'
step 'e' 'Write this page to: Graph.txt'
step 'Enter' 'written to Graph.txt'
is 'as it is shown' "$(sed -n 1p Graph.txt)" 'Graph of posconv.pte, forward'
echo kept >Graph.txt
step 'e' 'Write this page to: Graph.txt'
step 'Enter' 'Graph.txt is there already. Replace it'
step 'n' 'Enter follow'
is 'no: it stays' "$(cat Graph.txt)" kept
step 'e' 'Write this page to: Graph.txt'
step 'Enter' 'Replace it'
step 'y' 'written to Graph.txt'
ok 'yes' [ "$(wc -l <Graph.txt)" -gt 12 ]
step 'e' 'Write this page to'
step 'C-u' 'Write this page to:$'
keys -l 'nowhere/at/all'
step 'Enter' 'No such file or directory'
step 'e' 'Write this page to'
step 'C-u' 'Write this page to:$'
step 'Enter' 'not written'
step 'q' '^status 0'
finish
