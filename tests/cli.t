#!/bin/bash
# The command line from outside: exit statuses, one clear line on stderr, nothing but reports on stdout.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
cd "$tmp" || exit 1

# run ARGS...: output in out and err, status in $status
run() { "$et" "$@" >out 2>err </dev/null; status=$?; }

# refuses STATUS LINE ARGS...: that status, that one line, nothing on stdout
refuses() {
	local want=$1 line=$2
	shift 2
	run "$@"
	is "status of $*" $status "$want"
	is "words of $*" "$(cat err)" "$line"
	is "no output of $*" "$(cat out)" ""
}

# Bad usage.
refuses 2 'etinspect: unknown option --bogus; see etinspect --help' --bogus
refuses 2 "etinspect: --runs takes a whole number from 1 to 1000000, not 'x'; see etinspect --help" --runs x
refuses 2 'etinspect: -o needs exactly one program; see etinspect --help' -o out.pte a.pte b.pte
refuses 2 "etinspect: demo.pte: no method 'decode'; it has forward" --report --method decode "$(cp "$demo" demo.pte; echo demo.pte)"
refuses 2 "etinspect: demo.pte: no node, operator or constant 'softmax'" --explain softmax demo.pte

# Files that are something else.
mkdir empty-folder
: >empty.pte
printf 'PK\3\4 and so on, like a zip file of a .pt2 or of a checkpoint' >zip.pte
printf '\37\213\10\0\0\0\0\0\0\3 and so on' >gzip.pte
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >lfs.pte
head -c 3000 /dev/zero >zero.pte
head -c 20000 "$demo" >cut.pte
for f in missing empty zip gzip lfs zero cut empty-folder; do
	[ -d $f ] || f=$f.pte
	run --report $f
	is "status of $f" $status 3
	is "one line about $f" "$(wc -l <err)" 1
	is "that names $f" "$(cut -d: -f1-2 err)" "etinspect: $f"
	is "no output of $f" "$(cat out)" ""
done
run --report zip.pte; grep -q 'zip' err; ok 'a zip file is called one'
run --report gzip.pte; grep -q 'gzip' err; ok 'a gzip file is called one'
run --report lfs.pte; grep -q 'Git LFS pointer' err; ok 'a Git LFS pointer is called one'
run --report empty.pte; grep -q 'empty' err; ok 'an empty file is called one'

# Reports.
run --version
is 'status of --version' $status 0
grep -Eqx 'etinspect [0-9.]+, XNNPACK [^ ]+ here, rules of executorch 1\.5\.1' out; ok 'words of --version'
run --list-ops
grep -q '^aten.convolution.default .* aten::convolution.out .* yes  float, int .* Conv2d,.* float, static int8, dynamic int8 weight is a static' out
ok '--list-ops has the convolution'
run --list-ops --report=json
python3 -c '
import json
j = json.load(open("out"))
ops = {o["op"]: o for o in j["ops"]}
assert j["schema"] == "etinspect/1" and ops["aten.acos.default"]["xnnpack"] is None
x = ops["aten.add.Tensor"]
assert x["kernel"] == "aten::add.out" and x["runs_here"]
assert ops["aten.relu.default"]["dtypes"] == ["u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bf16"]
assert ops["aten.ones.default"]["dtypes"] == []
assert x["xnnpack"] == {"node": "Add", "precisions": ["float", "static int8"], "constraints": ["alpha is 1"]}
assert "inputs are not empty" in j["xnnpack"]["every_operator"]
'
ok '--list-ops as JSON'
run --help
is 'status of --help' $status 0
run demo.pte
is 'no terminal: the text report' $status 0
grep -q 'Fix: .*etinspect --apply fold,partition -o demo.fast.pte demo.pte' out; ok 'the command that fixes it is there'
is 'nothing on stderr' "$(cat err)" ""
run
is 'without a file: the demo' $status 0
head -1 out | grep -q demo; ok 'and it says so'
run --report=json demo.pte
python3 -c 'import json; j = json.load(open("out")); assert j["schema"] == "etinspect/1"; assert j["methods"][0]["left_out"].count("aten::convolution.out") == 2'
ok 'JSON of one program is an object'
"$et" --report=json - <demo.pte >out 2>err; ok 'standard input'
python3 -c 'import json; assert json.load(open("out"))["file"]["bytes"] == 35368'; ok 'is the same program'
mkdir folder && cp demo.pte folder/a.pte && cp demo.pte folder/b.pte && cp empty.pte folder/c.pte
run --report=json folder
is 'a folder with a bad file' $status 3
python3 -c '
import json
j = json.load(open("out"))
assert [o["file"]["path"] for o in j] == ["folder/a.pte", "folder/b.pte", "folder/c.pte"]
assert "error" in j[2] and "methods" in j[1]'
ok 'is an array, with the error in it'
mkdir single && cp demo.pte single/
run --report=json single
is 'a folder with one program' "$(head -c 1 out)" '['
run --table nodes demo.pte
head -1 out | grep -q '^method,id,op,runs,'; ok 'CSV has a head'
run --dot demo.pte
grep -q '^digraph "forward" {' out; ok 'a graph'
run --explain convolution demo.pte
is 'explains both convolutions' "$(grep -c '^forward/.*aten.convolution.default' out)" 2
grep -q 'FAILS' out; ok 'with the rule that fails'
run --explain constant1 demo.pte
cp out got
same 'tells the story of a weight' explain_weight.txt
run --explain constant1 --apply fold --report=json demo.pte
is 'and of one that a fold has erased' "$(grep -o '"about": "[a-z ]*"' out | tr '\n' ' ')" \
	'"about": "gone" "about": "stored" "about": "read by" "about": "fold" '
run --explain convolution --report=json demo.pte
python3 -c 'import json; j = json.load(open("out")); assert len(j) == 2 and any(not r["ok"] for r in j[0]["rules"])'; ok 'in JSON too'

run --report=markdown demo.pte
grep -q '^| forward | ' out; ok 'Markdown has the method'
run --hash --report=json demo.pte
python3 -c '
import hashlib, json
j = json.load(open("out"))
assert j["file"]["sha256"] == hashlib.sha256(open("demo.pte", "rb").read()).hexdigest()
assert all(len(c["sha256"]) == 64 for c in j["constants"])'
ok '--hash'
run --bench --runs 2 --threads 1 --trace trace.json --report=json demo.pte
python3 -c '
import json
e = json.load(open("trace.json"))
assert len([x for x in e if x["ph"] == "X" and x["dur"] > 0]) > 10'
ok '--trace'
run --bench --runs 2 --threads 1 --by op demo.pte
grep -q 'aten.convolution.default .*before .*filed' out; ok '--by op'

# A method whose name holds an escape sequence, and a file whose name does.
python3 -c '
import sys
b = open("demo.pte", "rb").read()
assert b.count(b"forward") == 1
open("hostile\x1b[2J\r.pte", "wb").write(b.replace(b"forward", b"f\x1b[31mx"))'
for format in text json markdown csv; do
	run --report=$format hostile*.pte
	is "a hostile name as $format" $status 0
	! LC_ALL=C grep -q $'[\001-\011\013-\037\177]' out err; ok 'does not reach the terminal'
done
run --dot hostile*.pte; ! LC_ALL=C grep -q $'[\001-\011\013-\037\177]' out; ok 'nor as a graph'
run --method nothing hostile*.pte
is 'nor in an error' "$(cat err)" "etinspect: hostile?[2J?.pte: no method 'nothing'; it has f?[31mx"

# Ctrl-C.
"$et" --bench --runs 1000000 --max-time 1000 demo.pte >out 2>err & pid=$!
sleep 0.5; kill -INT $pid 2>/dev/null; wait $pid
is 'ends on SIGINT' $? 130

# Several programs, where one is wanted.
refuses 2 'etinspect: -o needs exactly one program, not 3; see etinspect --help' --optimize -o many.pte folder
refuses 2 'etinspect: --trace needs exactly one program, not 2; see etinspect --help' --bench --trace many.json demo.pte demo.pte
[ ! -e many.pte ] && [ ! -e many.json ]; ok 'and nothing is written'
refuses 2 "etinspect: demo.pte: no method 'decode'; it has forward" --verify --input decode:x.npy demo.pte
refuses 2 "etinspect: demo.pte: no method 'decode'; it has forward" --verify --shape decode:0=1 demo.pte

# JSON says what went wrong, too.
for args in '--report=json zip.pte' '--report=json --method nothing demo.pte' '--report=json --verify --input nothing.npy demo.pte'; do
	run $args
	python3 -c 'import json; j = json.load(open("out")); assert j["schema"] == "etinspect/1" and j["error"]'; ok "an error as JSON: $args"
	is "as on stderr: $args" "etinspect: $(python3 -c 'import json; print(json.load(open("out"))["error"])')" "$(cat err)"
done
run --report=json --verify --input nothing.npy demo.pte
is 'a run that fails' $status 4
python3 -c 'import json; j = json.load(open("out")); assert j["methods"][0]["nodes"] and not j["verify"]'; ok 'leaves the rest of the report'

# Standard output that is full, or not there.
for args in --version --list-ops demo.pte; do
	"$et" $args >/dev/full 2>err; is "status of a full disk: $args" $? 4
	is "said of a full disk: $args" "$(cat err)" 'etinspect: standard output: No space left on device'
done
"$et" --optimize -o closed.pte demo.pte >&- 2>err; is 'status without standard output' $? 4
run --report closed.pte
is 'the report did not go into the file' $status 0

# Budgets.
run --fail-on 'declined>100,warnings' demo.pte
is 'budgets that hold' $status 0
run --fail-on 'declined>5' demo.pte
is 'a broken budget' $status 1
is 'is named' "$(cat err)" 'etinspect: demo.pte: budget declined>5 is broken: 6'
run --fail-on warnings "$(dirname "$demo")/../fixtures/programs/prelu_delegate.pte"
is "a delegate that reads what was freed" $status 1
grep -q 'will_crash at forward/0/' out; ok 'is a warning'
run --fail-on warnings --apply partition -o repaired.pte --allow-worse "$(dirname "$demo")/../fixtures/programs/prelu_delegate.pte"
run --fail-on warnings repaired.pte
is "which partitioning mends" $status 0
wrong="$(dirname "$demo")/../fixtures/programs/softmax_delegate.pte"
run --fail-on warnings "$wrong"
is "a delegate that is wrong" $status 1
is 'is a broken budget' "$(sed 's/.*: budget/budget/' err)" 'budget warnings is broken: 1'
grep -q '^  wrong_result at forward/0/2$' out; ok 'whose warning has no number yet'
run --verify --report=json "$wrong"
python3 -c 'import json; w = json.load(open("out"))["methods"][0]["warnings"]; assert len(w) == 1 and w[0]["max_abs_diff"] > 0.1, w'
ok 'and one when it was run'
run --verify --table warnings "$(dirname "$demo")/../fixtures/programs/buffer_delegate.pte"
is 'warnings as CSV' "$(cut -d, -f1-3 out)" "$(printf 'method,node,code\nforward,forward/1/0,wrong_result')"
[ "$(sed -n 2p out | cut -d, -f4 | cut -d. -f1)" -ge 5 ]; ok 'with what they come to'
run --verify --apply partition -o kept.pte --allow-worse "$wrong"
run --fail-on warnings kept.pte
is 'partitioning does not make it right' $status 1
run --fail-on foldable demo.pte
is 'something to fold is a broken budget' $status 1
run --fail-on 'declined>0,foldable' --optimize demo.pte
is 'after the fix it holds' $status 0

# Writing.
run --apply fold,partition -o out.pte demo.pte
is 'writes' $status 0
[ "$(stat -c %s out.pte)" -le "$(stat -c %s demo.pte)" ]; ok 'a file no larger than before'
run --report=json out.pte
python3 -c 'import json; m = json.load(open("out"))["methods"][0]; assert m["left_out"] == [] and len(m["delegates"]) == 1, m["left_out"]'
ok 'with one delegate and nothing left out'
cp out.pte before.pte
run --apply fold,partition -o out.pte demo.pte
is 'replaces nothing unasked' $status 4
grep -q 'etinspect: out.pte not written:' err; ok 'and says so'
cmp -s out.pte before.pte; ok 'the file is as it was'
run --apply fold,partition -o out.pte --force demo.pte
is 'replaces when told' $status 0
run --optimize --verify --tolerance 0 -o differs.pte demo.pte
is 'what does not pass --verify' $status 4
[ ! -e differs.pte ] && grep -q 'differs.pte not written: .*differs by' err; ok 'is not written'
run -o same.pte demo.pte
cmp -s same.pte demo.pte; ok 'nothing applied: byte for byte the same'
run --apply partition -o /nowhere/out.pte demo.pte
is 'a folder that is not there' $status 4
run --apply fold,partition -o lines.pte --verify --runs 2 --warmup 0 --bench --threads 1 --report=json demo.pte
is 'verifies and benches' $status 0
python3 -c '
import json
j = json.load(open("out"))
assert j["verify"] and all(v["ok"] for v in j["verify"]), j["verify"]
rows = [(b["state"], b["engine"]) for b in j["bench"] if b["module"] is None]
assert sorted(rows) == sorted((s, e) for s in ("before", "after") for e in ("filed", "portable", "xnnpack")), rows
assert all(b["failed"] is None and b["median_ms"] > 0 for b in j["bench"])'
ok 'and reports both'
cp out old.json
run --baseline old.json --fail-on 'regression>1000000%' demo.pte
is 'a baseline' $status 1
grep -q 'budget regression' err; ok 'names the regression'
run --baseline nothing.json demo.pte
is 'a baseline that is not there' $status 3

# Colours only where they are wanted.
run --report demo.pte; ! grep -q $'\033' out; ok 'no colours into a file'
run --report --color=always demo.pte; grep -q $'\033\[1m' out; ok 'colours when asked for'
finish
