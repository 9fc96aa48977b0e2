#!/bin/bash
# Finding: the search as one types.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
"$make" posconv posconv.pte
"$make" many 50000 many.pte

# step KEYS PATTERN: presses, and waits for what it must show
step() { keys $1; sees "$1: $2" "$2"; }
# types TEXT PATTERN
types() { keys -l -- "$1"; sees "types $1: $2" "$2"; }

open 80 24 --threads 2 posconv.pte
waits 'nodes'
step '2' '^> +●'
step '/' '^/'
types 'c' '^/c .*1 of [0-9]+'
types 'onv' '^> +5 .*convolution'
sees 'says which it is' '^/conv +1 of 1'
colored $'convol|\e\\[[0-9;]*4[0-9;]*m(\e\\[[0-9;]*m)*conv'; ok 'marks it'
types 'x' '^/convx +not found'
sees 'and is back where it began' '^> +● '
step 'BSpace' '^> +5 .*convolution'
step 'Escape' '1 of 12$'
sees 'Esc goes back' '^> +● '
step '/' '^/'
types '^(sum|pow' '^/\^\(sum\|pow +Unmatched \('
sees 'a bad expression moves nothing' '^> +● '
step 'Enter' '^/\^\(sum\|pow +Unmatched'
types ')$' 'not found'
step 'BSpace' '^> +0 .*pow'
step 'Enter' '/\^\(sum\|pow\)  1 of 3'
step 'n' '^> +1 .*sum'
step 'n' '^> +2 .*pow'
step 'n' '1 of 3, round the end'
sees 'round the end' '^> +0 .*pow'
step 'N' '3 of 3, round the end'
colored $'\e\\[[0-9;]*4[^m]*m(\e\\[[0-9;]*m)*pow'; ok 'marks what is found'
step 'Escape' '^Enter follow'
! $tmux capture-pane -ep | grep -Eq $'\e\\[[0-9;]*4[^m]*m(\e\\[[0-9;]*m)*pow'; ok 'Esc: no marks'
step 'n' '/\^\(sum\|pow\)  1 of 3'
step '/' '^/'
types 'Conv' '^/Conv +not found'
step 'C-u' '^/$'
types '(a)\1' 'back-references are not taken'
step 'C-g' '^> +0 '
step '/' '^/'
types 'nowhere' 'not found'
step 'Enter' '^not found: nowhere'
step 'q' '^status 0'

# A large program: every step is an answer.
open 120 40 --threads 2 many.pte
waits 'nodes'
step '2' 'of 50'
step '/' '^/'
types 'forward/49' 'not found'
step 'C-u' '^/$'
types '^49(9|8)[0-9]+$' '1 of 220'
step 'Enter' '^> +4980 '
step 'q' '^status 0'
finish
