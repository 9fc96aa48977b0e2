#!/bin/bash
# What a terminal may expect: to be given back whatever ends us, to be left and come back to, and to get nothing but
# what we draw, in what it can show.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
. tests/tmux.sh
cd "$tmp" || exit 1
cp "$demo" demo.pte
"$make" hostile hostile.pte

# Left with Ctrl-Z and come back to, edits and all.
shell 80 24
keys -l "$et --threads 2 demo.pte"; keys Enter
waits 'slow'; keys 1 f
waits 'same outputs'
keys 2
waits '^ +node graph'
keys C-z
sees 'Ctrl-Z: the shell has the terminal' 'Stopped'
is 'its screen' "$($tmux display-message -p '#{alternate_on}')" 0
is 'without the mouse' "$($tmux display-message -p '#{mouse_any_flag}')" 0
keys -l 'echo one$((1))'; keys Enter
sees 'it can be used' '^one1'
$tmux resize-window -x 100 -y 30
keys -l 'fg'; keys Enter
sees 'fg: the pages are back' '^ +node graph'
sees 'on the screen as it is by now' 'XNNPACK YYYY-MM  2 threads$'
is 'and the modes' "$(modes)" '-echo -icanon'
is 'the mouse too' "$($tmux display-message -p '#{mouse_any_flag}')" 1
keys G
sees 'keys work' 'linear'
keys q
sees 'what was edited is known' 'not written. Quit'
keys y
waits '^[^ ]*\$ *$'
keys -l 'exit'; keys Enter

# Given back on signals.
for sig in TERM INT HUP QUIT SEGV BUS FPE ILL ABRT; do
	open 80 24 demo.pte
	waits 'slow'
	kill -"$sig" "$(child)"
	sees "SIG$sig: ends it" '^status [0-9]+'
	is "SIG$sig: the terminal is as it was" "$($tmux display-message -p '#{alternate_on} #{cursor_flag} #{mouse_any_flag}') $(modes)" '0 1 0 echo icanon'
done

# Names with escape sequences, wide and combining characters. What comes to the terminal is what we draw.
for size in '80 24' '41 24'; do
	open $size --threads 2 hostile.pte
	$tmux pipe-pane "cat >>$tmp/sent"
	waits 'portable'
	for page in 2 8; do
		keys $page
		screen "hostile names at ${size/ /x}, page $page" "pages/hostile_${size/ /x}_$page.txt"
	done
	keys End
	waits '6 of 6'
	keys q
	waits status
done
! LC_ALL=C grep -aq $'\033\\[2J\033\\[31m\|\302[\200-\237]\|\342\200\256\|[\001-\007\020-\032]' sent; ok 'nothing of a name moves the cursor'
LC_ALL=C grep -aq $'\347\225\263' sent; ok 'wide characters come whole'

# Another locale: ASCII alone.
rm -f sent
locale=C open 80 24 --threads 2 hostile.pte
$tmux pipe-pane "cat >>$tmp/sent"
waits 'portable'
for page in 2 3 7 8 '?'; do keys $page; waits '^.*of [0-9]+$'; done
screen 'help in ASCII' pages/help_ascii.txt
keys q
waits status
[ -s sent ] && ! LC_ALL=C grep -aq $'[\200-\377]' sent; ok 'LC_ALL=C: ASCII alone'

# No terminal to draw on: the text report.
term=dumb open 80 60 demo.pte
sees 'TERM=dumb gets the report' 'Fix: .*etinspect --apply'
term=nowhere open 80 60 demo.pte
sees 'a TERM that is not known is told' "the terminal 'nowhere' is not known here"
"$et" demo.pte >report </dev/null 2>err; is 'no terminal: status' $? 0
grep -q 'Fix: .*etinspect --apply' report; ok 'no terminal: the report'
! grep -q $'\033' report; ok 'without colours'
finish
