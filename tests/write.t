#!/bin/bash
# What stands in the way of writing: a full disk, a limit, a folder that cannot be written, a file that is there, a
# result that is larger. Each gives exit 4, one line, the old file or none, and nothing beside it.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
small=$PWD/tests/fixtures/programs/portable.pte
cd "$tmp" || exit 1
mkdir place

run() { "$et" "$@" >out 2>err </dev/null; status=$?; }

# refused WHAT LINE FOLDER: the last run ended so, and FOLDER holds $before
refused() {
	is "status: $1" $status 4
	is "one line: $1" "$(cat err)" "$2"
	is "nothing changed: $1" "$(ls -A "$3"; cat "$3"/*.pte 2>/dev/null | cksum)" "$before"
}
look() { before=$(ls -A "$1"; cat "$1"/*.pte 2>/dev/null | cksum); }

# A limit on file size stops a write; it counts for files in memory as well, so there are two places to meet it.
for kb in 1 8 24 31 40; do
	for old in '' old; do
		rm -f place/out.pte
		[ -z "$old" ] || echo $old >place/out.pte
		look place
		(ulimit -f $kb; "$et" --optimize --force -o place/out.pte "$demo" >out 2>err </dev/null)
		if [ $? = 0 ]; then pass "$kb kB are enough"; continue; fi
		is "one line: $kb kB are allowed${old:+ for what replaces a file}" "$(grep -c 'File too large$' err)-$(wc -l <err)" 1-1
		is "nothing changed: $kb kB" "$(ls -A place; cat place/*.pte 2>/dev/null | cksum)" "$before"
	done
done
echo old >place/out.pte

# A disk that is full. Mounting one takes root, or a name space of one's own.
mkdir disk
full() { # full OLD: optimises onto a disk of 16 kB
	$alone bash -c 'mount -t tmpfs -o size=16k none disk || exit 77
		[ -z "$2" ] || echo $2 >disk/out.pte
		"$0" --optimize --force -o disk/out.pte "$1" >out 2>err </dev/null; status=$?
		ls -A disk; cat disk/out.pte 2>/dev/null; umount disk; exit $status' "$et" "$demo" "$1" 2>/dev/null
}
alone=
full '' >left; [ $? != 77 ] || alone='unshare -rm'
for old in '' old; do
	full $old >left; status=$?
	if [ $status = 77 ] || grep -q unshare left; then pass 'a full disk # skip cannot mount one'; continue; fi
	is "status: a full disk${old:+ and a file to replace}" $status 4
	is "one line: a full disk${old:+ and a file to replace}" "$(cat err)" \
		'etinspect: disk/out.pte not written: disk/out.pte: cannot write: No space left on device'
	is "left on a full disk${old:+ with a file to replace}" "$(cat left)" "${old:+out.pte
old}"
done

# A folder that cannot be written; root could write it, unless it is root without that right.
mkdir closed
chmod 555 closed
bound=
[ "$(id -u)" != 0 ] || bound='setpriv --bounding-set=-dac_override'
if ! $bound true 2>/dev/null || $bound touch closed/x 2>/dev/null; then
	pass 'a folder that cannot be written # skip this user can write all'
else
	$bound "$et" --optimize -o closed/out.pte "$demo" >out 2>err </dev/null
	is 'status: a folder that cannot be written' $? 4
	is 'one line: a folder that cannot be written' "$(cat err)" \
		'etinspect: closed/out.pte not written: closed/out.pte: cannot create a file beside it: Permission denied'
fi
chmod 755 closed
is 'nothing in a folder that cannot be written' "$(ls -A closed)" ''
run --optimize -o nowhere/out.pte "$demo"
is 'status: a folder that is not there' $status 4
is 'one line: a folder that is not there' "$(cat err)" \
	'etinspect: nowhere/out.pte not written: nowhere/out.pte: cannot create a file beside it: No such file or directory'

# What is there stays, unless told; what is no file is never replaced.
look place
run --optimize -o place/out.pte "$demo"
refused 'a file that is there' 'etinspect: place/out.pte not written: place/out.pte: exists already' place
run --optimize --force -o place "$demo"
refused 'a folder in the place of a file' 'etinspect: place not written: place: is not a regular file' place
chmod 640 place/out.pte
run --optimize --force -o place/out.pte "$demo"
is 'status when told' $status 0
is 'a file that is replaced keeps its mode' "$(stat -c %a place/out.pte)" 640
is 'only the file is there' "$(ls -A place)" out.pte
ln -s place/out.pte link.pte
cp place/out.pte as-is.pte
echo old >place/out.pte
run --optimize --force -o link.pte "$demo"
is 'status through a link' $status 0
[ -L link.pte ] && cmp -s place/out.pte as-is.pte; ok 'a link is followed'

# The input is replaced when it is named and that is allowed: it is read to the end before.
cp "$demo" place/self.pte
before=$(cksum <place/self.pte)
run --optimize -o place/self.pte place/self.pte
is 'status: the input in the place of the output' $status 4
is 'the input stays' "$(cksum <place/self.pte)" "$before"
run --optimize --force --verify -o place/self.pte place/self.pte
is 'status: the input replaced' $status 0
cmp -s place/self.pte as-is.pte; ok 'the input replaced has what another file would have'
run -o place/self.pte --force place/self.pte
is 'status: nothing applied, the input replaced' $status 0
cmp -s place/self.pte as-is.pte; ok 'nothing applied, the input replaced: the same bytes'

# A result that is larger is said, and written only when told.
rm -f place/*
look place
cp "$small" small.pte
bytes=$(stat -c %s small.pte)
run --optimize -o place/out.pte small.pte
is 'status: a larger result' $status 4
larger=$(sed -nE "s/^etinspect: place\/out\.pte not written: it would be larger, ([0-9]+) bytes instead of $bytes; --allow-worse writes it\$/\1/p" err)
[ "${larger:-0}" -gt "$bytes" ]; ok 'both numbers of a larger result'
is 'a larger result is not there' "$(ls -A place)" ''
grep -q 'Not written' out; ok 'the report says so too'
run --optimize --allow-worse -o place/out.pte small.pte
is 'status when it may be larger' $status 0
is 'it has as many bytes as was said' "$(stat -c %s place/out.pte)" "$larger"

# So is one that is slower, where it was timed: by the report's own numbers, since a sanitizer may turn them round.
rm -f place/*
"$make" slower slower.pte
timed="--bench --runs 20 --warmup 2 --max-time 1 --threads 1"
run --optimize $timed --report=json -o place/out.pte slower.pte
slow=$(python3 - <<'END'
import json
rows = {(b['state'], b['engine']): b for b in json.load(open('out'))['bench'] if b['module'] is None}
was, now = rows['before', 'filed'], rows['after', 'filed']
if now['median_ms'] > max(was['p90_ms'], 1.05 * was['median_ms']):
    print('forward would be slower, %.3g ms instead of %.3g; --allow-worse writes it' % (now['median_ms'], was['median_ms']))
END
)
is 'status: a slower result' $status "$([ -z "$slow" ] && echo 0 || echo 4)"
is 'both times of a slower result' "$(cat err)" "${slow:+etinspect: place/out.pte not written: $slow}"
is 'a slower result is not there' "$(ls -A place)" "$([ -n "$slow" ] || echo out.pte)"
run --optimize $timed --force --allow-worse -o place/out.pte slower.pte
is 'status when it may be slower' $status 0
[ "$(stat -c %s place/out.pte)" -lt "$(stat -c %s slower.pte)" ]; ok 'and is no larger'
run --optimize --force -o place/out.pte slower.pte
is 'status of a slower result that was not timed' $status 0
finish
