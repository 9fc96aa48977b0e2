#!/bin/bash
# What a person can set and press: the configuration, colours, the mouse, help, the manual.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
cp "$demo" demo.pte
mkdir etinspect

# Keys and colours of a configuration; a bad line is told, the others count.
printf 'key page-2 G\nkey quit x\ncolor bad bright-magenta on 236 bold\nkey nowhere y\n' >etinspect/config
open 120 40 --threads 2 demo.pte
sees 'tells the bad line' 'etinspect/config:4: no request is called .nowhere.'
colored $'\e\\[1(;|m\e\\[)95' && colored $'\e\\[48;5;236m'; ok 'a colour that was set'
keys G
sees 'a key that was set' '^ +node graph'
keys q
keys '?'
sees 'help says first what is for the page' '^>On Graph'
keys End
sees 'and shows the keys as they are' '^>x +quit +quit'
keys x
sees 'quits with another key' 'status 0'
rm etinspect/config

# Few colours, and none.
term=vt100 open 80 24 demo.pte
waits 'slow'; keys 3
sees 'a terminal without colours' '>weight_not'
! $tmux capture-pane -ep | grep -Eq $'\e\\[[0-9;]*3[0-7]m'; ok 'gets none'
keys q
printf 'color bad 196\n' >etinspect/config
term=screen open 80 24 demo.pte
waits 'slow'
colored $'\e\\[31m'; ok 'eight colours: the nearest'
keys q
rm etinspect/config
export NO_COLOR=1
open 80 24 demo.pte
waits 'slow'
! $tmux capture-pane -ep | grep -Eq $'\e\\[[0-9;]*3[0-7]m'; ok 'NO_COLOR'
keys q
open 80 24 --color=always demo.pte
waits 'slow'
colored $'\e\\[31m'; ok 'unless --color=always'
keys q
unset NO_COLOR

# The mouse.
open 80 24 --threads 2 demo.pte
waits 'slow'
press 15 2
sees 'a press on a tab' '^ +node graph'
press 10 8
sees 'on a line' '^>.*1 +.*sum\(|4 of '
press 10 5 65
sees 'the wheel' '7 of '
press 10 5 64
sees 'and back' '4 of '
press 70 5
press 40 4
sees 'on a title: sorted by it' 'output \^'
press 40 4
sees 'again: the other way round' 'output v'
press 76 2
sees 'on the question mark' 'what they do'
keys 3
waits 'why'
press 10 6
waits '2 of'
press 10 6
sees 'on the line of the cursor: goes there' '^>.*convolution'
keys q
waits 'status 0'
printf 'mouse off\n' >etinspect/config
open 80 24 demo.pte
waits 'slow'
[ "$($tmux display-message -p '#{mouse_any_flag}')" = 0 ]; ok 'no mouse if it is not wanted'
keys q
rm etinspect/config

# The manual has every option of --help, and is clean roff.
"$et" --manual >etinspect.1
missing=
for o in $("$et" --help | grep -o '^  \(-., \)\?--[a-z-]*' | grep -o -- '--.*'); do
	grep -q -- "${o//-/\\\\-}" etinspect.1 || missing="$missing $o"
done
is 'every option is in the manual' "$missing" ''
! command -v groff >/dev/null || [ -z "$(groff -man -Tutf8 -ww etinspect.1 2>&1 >/dev/null)" ]; ok 'no warnings of groff'
finish
