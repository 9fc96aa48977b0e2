# tap.sh - for tests in shell: results as TAP, and comparing texts with files in tests/expected. Sourced from the
# top of the repository; $et is the program, $make what makes programs, $tmp a folder that goes away at the end.
et=$PWD/${ETINSPECT:-.build/etinspect}
make=$PWD/$(dirname "${ETINSPECT:-.build/etinspect}")/tests/tool_make
demo=$PWD/tests/demo/demo.pte
expected=$PWD/tests/expected
tmp=$(mktemp -d "${TMPDIR:-/tmp}/etinspect-test-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export XDG_CONFIG_HOME=$tmp	# what the person has set is no part of a test
ran=0 failed=0

ok() { # ok WHAT: the last command's status decides
	if [ $? = 0 ]; then pass "$1"; else fail "$1"; fi
}

pass() { ran=$((ran + 1)); echo "ok $ran - $1"; }

fail() {
	ran=$((ran + 1)) failed=$((failed + 1))
	echo "not ok $ran - $1"
	[ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/# /'
}

is() { # is WHAT GOT WANTED
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got: $2
wanted: $3"; fi
}

# same WHAT NAME: $tmp/got is tests/expected/NAME; EXPECT_UPDATE=1 writes that file instead.
same() {
	[ -z "${EXPECT_UPDATE:-}" ] || cp "$tmp/got" "$expected/$2"
	if cmp -s "$tmp/got" "$expected/$2"; then pass "$1"; else fail "$1" "$(diff "$expected/$2" "$tmp/got" | head -20)"; fi
}

finish() { echo "1..$ran"; [ $failed = 0 ]; exit; }
