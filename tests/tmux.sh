# tmux.sh - the pages through a real terminal: tmux at a fixed size, screens as files a person can read. A screen is
# waited for, never slept for; with EXPECT_UPDATE=1 what stands still for a second is taken instead. After tap.sh.
server=0 tmux=true
trap '$tmux kill-server 2>/dev/null; rm -rf "$tmp"' EXIT

# open COLUMNS LINES [ARGS...]
open() {
	local x=$1 y=$2
	shift 2
	$tmux kill-server 2>/dev/null
	server=$((server + 1))	# a server that is going would still have its name
	tmux="tmux -L etinspect-test-$$-$server -f /dev/null"
	if ! $tmux new-session -d -x "$x" -y "$y" "env LC_ALL=${locale:-C.UTF-8} TERM=${term:-screen-256color} $et $*; echo status \$?; exec sleep 1000" 2>tmux.err; then
		echo "Bail out! tmux cannot start: $(head -n 1 tmux.err)"
		exit 1
	fi
	$tmux set-option -g status off
}

# Versions of the machine's libraries are no part of a screen, but its width is.
capture() { $tmux capture-pane -p | sed -E 's/XNNPACK [0-9]{4}-[0-9]{2}/XNNPACK YYYY-MM/'; }

keys() { $tmux send-keys "$@"; }

# waits PATTERN: until the screen has it
waits() {
	for _ in $(seq 300); do
		capture | grep -Eq -- "$1" && return 0
		sleep 0.05
	done
	return 1
}

sees() { waits "$2"; if [ $? = 0 ]; then pass "$1"; else fail "$1" "$(capture)"; fi; }

# screen WHAT NAME: the whole screen is tests/expected/NAME
screen() {
	local last=
	if [ -n "${EXPECT_UPDATE:-}" ]; then
		sleep 1
		capture >"$expected/$2"
	fi
	for _ in $(seq 200); do
		last=$(capture)
		[ "$last" = "$(cat "$expected/$2")" ] && { pass "$1"; return; }
		sleep 0.05
	done
	printf '%s\n' "$last" >got
	fail "$1" "$(diff "$expected/$2" got | head -40)"
}

# press COLUMN LINE [BUTTON]: the mouse, both from 1, and let go; 64 and 65 are the wheel
press() {
	for b in "${3:-0}" 3; do
		keys -l "$(printf "\\033[M$(printf '\\%03o' $((32 + b)) $((32 + $1)) $((32 + $2)))")"
	done
}

# colored PATTERN: until the screen, with its SGR sequences, has it
colored() {
	for _ in $(seq 100); do
		$tmux capture-pane -ep | grep -Eq -- "$1" && return 0
		sleep 0.05
	done
	return 1
}

# child [PID]: the process that PID, or else the pane's shell, has started
child() { local p=${1:-$($tmux display-message -p '#{pane_pid}')}; tr -d ' ' <"/proc/$p/task/$p/children"; }

# shell COLUMNS LINES: a shell with job control
shell() {
	open "$1" "$2" --version
	waits status
	$tmux respawn-pane -k "env LC_ALL=C.UTF-8 TERM=screen-256color PS1='\$ ' bash --norc --noprofile -i"
}

# The modes of the pane's terminal that a program for it changes.
modes() { stty -a -F "$($tmux display-message -p '#{pane_tty}')" | tr ' ;' '\n\n' | grep -E '^-?(echo|icanon)$' | sort | tr '\n' ' ' | sed 's/ $//'; }
