# etinspect: `make run` and `make check` need nothing but make; `make deps` brings the rest.

# Settings
PREFIX   ?= /usr/local
CC       ?= cc
B        ?= .build
CASES    ?= ../shared/cases
OPT      ?= -O3
WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wno-unused-parameter -Werror
CPPFLAGS += -I. -D_GNU_SOURCE -MMD -MP
# Nothing here reads the flags or errno of mathematics: without them, more loops vectorise, to the same bits.
MATH     = -fno-math-errno -fno-trapping-math
CFLAGS   += -std=c11 -g $(OPT) $(MATH) $(WARN) $(SAN)
LDLIBS   = -lXNNPACK -lpthreadpool -lcpuinfo -lncursesw -lmd -ljansson -lm -lpthread

CORE     = $(wildcard core/*/*.c)
VIEWS    = $(wildcard views/*.c)
INSPECT  = $(wildcard inspect/*.c)
# Each tests/test_*.c is a TAP program of its own; the other C files of tests/ serve all of them.
TESTS    = $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_*.c))
TESTLIB  = $(filter-out tests/test_%.c tests/tool_%.c,$(wildcard tests/*.c))
TOOLS    = $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/tool_*.c))
obj      = $(patsubst %.c,$(B)/%.o,$(1))

all: $(B)/etinspect

run: deps
	+@$(MAKE) --no-print-directory all
	@exec $(B)/etinspect

check: deps
	+@$(MAKE) --no-print-directory tap

tap: all $(TESTS) $(B)/tests/tool_make
	ETINSPECT=$(B)/etinspect prove --timer --exec "" $(TESTS) $(wildcard tests/*.t)

# Real programs, and random ones with computed weights, against the stock runtime; CASES names the folder, ONLY a
# pattern ("models/*").
conformance: all tools
	@command -v g++ >/dev/null && python3 -m pip --version >/dev/null 2>&1 || $(SUDO) $(APT) install g++ python3-pip
	@[ -x $(B)/etrun/etrun ] || sh $(CASES)/../tools/build-etrun $(B)/etrun
	python3 tests/conformance.py --etinspect $(B)/etinspect --run $(B)/tests/tool_run --etrun $(B)/etrun/etrun $(CASES) $(ONLY)
	python3 tests/seeded.py --etinspect $(B)/etinspect --seeded $(B)/tests/tool_seeded --etrun $(B)/etrun/etrun

# The same on small programs of public architectures, exported first; PYTHON has torch, executorch and transformers.
PYTHON   ?= python3
MODELS   ?= $(B)/models
architectures: all tools
	@[ -x $(B)/etrun/etrun ] || sh $(CASES)/../tools/build-etrun $(B)/etrun
	$(PYTHON) tests/architectures.py --exportcase $(CASES)/../tools/exportcase.py $(MODELS) $(ONLY)
	python3 tests/conformance.py --etinspect $(B)/etinspect --run $(B)/tests/tool_run --etrun $(B)/etrun/etrun $(MODELS)

# Our engines beside the stock runtime, a kernel a line; on a machine that does nothing else.
speed: all tools
	@[ -x $(B)/etrun/etrun ] || sh $(CASES)/../tools/build-etrun $(B)/etrun
	python3 tests/speed.py --run $(B)/tests/tool_run --one $(B)/tests/tool_one --etrun $(B)/etrun/etrun $(CASES)

# What a fold costs, in time and memory.
foldcost: all tools
	python3 tests/foldcost.py --etinspect $(B)/etinspect --fold $(B)/tests/tool_fold --make $(B)/tests/tool_make $(CASES)

# What --optimize writes beside the exporter's xnnpack.pte, both in the stock runtime; on a machine that does nothing else.
latency: all
	@[ -x $(B)/etrun/etrun ] || sh $(CASES)/../tools/build-etrun $(B)/etrun
	python3 tests/latency.py --etinspect $(B)/etinspect --etrun $(B)/etrun/etrun $(CASES) $(addprefix --only ,$(ONLY))

# The same program and tests under AddressSanitizer and UBSan; either ends the program at its first complaint.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-format-truncation
asan:
	+@$(MAKE) --no-print-directory B=$(B)/asan OPT=-O1 SAN="$(SANITIZE)" tap tools mutate

tools: $(TOOLS)

# 20,000 damaged copies of five programs, read, lifted and checked; worth most under `make asan`.
mutate: $(B)/tests/tool_mutate
	$< 1 20000 tests/demo/demo.pte $(addprefix tests/fixtures/programs/,branch.pte conv_qs8.pte dynamic.pte linear.pte)

# 50,000 random keys, with resizes, on four programs; worth most under the sanitizers: make monkey-asan.
monkey: all $(B)/tests/tool_make $(B)/tests/tool_monkey
	@mkdir -p $(B)/monkey; cp tests/demo/demo.pte $(B)/monkey
	@cd $(B)/monkey && for kind in demo posconv methods hostile; do \
		[ $$kind = demo ] || $(abspath $(B))/tests/tool_make $$kind $$kind.pte || exit 1; \
		$(abspath $(B))/tests/tool_monkey $${SEED:-1} 12500 $(abspath $(B))/etinspect --threads 2 --max-time 0.2 $$kind.pte || exit 1; \
	done

monkey-asan:
	+@$(MAKE) --no-print-directory B=$(B)/asan OPT=-O1 SAN="$(SANITIZE)" monkey

# Damaged copies, optimised: what is written runs in the stock runtime if the copy does.
mutated: all tools
	@[ -x $(B)/etrun/etrun ] || sh $(CASES)/../tools/build-etrun $(B)/etrun
	python3 tests/mutated.py --etinspect $(B)/etinspect --etrun $(B)/etrun/etrun --mutate $(B)/tests/tool_mutate 1 3000 \
		$(addprefix $(CASES)/,models/lenet/portable.pte models/encoder_layer/portable.pte models/kv_cache/portable.pte \
		models/lstm/xnnpack.pte models/pt2e_static_conv/portable.pte seed/weight_norm_conv1d_stack/xnnpack.pte \
		seed/tied_embedding/portable.pte ops/dyn_view/portable.pte)

# Takes the rules of fold and linear conversion out of the code, one at a time: a test must fail for each.
rules: all $(TESTS)
	python3 tests/rules.py --build $(B) $(ONLY)

install: all
	install -D -m 755 $(B)/etinspect $(DESTDIR)$(PREFIX)/bin/etinspect
	$(B)/etinspect --manual >$(B)/etinspect.1
	install -D -m 644 $(B)/etinspect.1 $(DESTDIR)$(PREFIX)/share/man/man1/etinspect.1

clean:
	rm -rf $(B)

$(B)/etinspect: $(B)/inspect/main.o $(B)/libinspect.a $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The program without main, so that tests can reach it too.
$(B)/libinspect.a: $(filter-out $(B)/inspect/main.o,$(call obj,$(INSPECT) $(VIEWS)))
	rm -f $@ && ar rcs $@ $^

$(B)/inspect/demo.o: tests/demo/demo.pte

$(B)/libcore.a: $(call obj,$(CORE))
	rm -f $@ && ar rcs $@ $^

$(B)/tests/%: $(B)/tests/%.o $(call obj,$(TESTLIB)) $(B)/libinspect.a $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# Its writers err on purpose.
$(B)/tests/test_read_back: LDFLAGS += -Wl,--wrap=pte_write,--wrap=xblob_write

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Packages. Debian 12 has an XNNPACK of 2022, so these three come from Debian 13 there: from the mirror
# that is configured already, pinned so low that nothing else follows.
PACKAGES = gcc libc6-dev libncurses-dev libmd-dev libjansson-dev libcmocka-dev perl tmux python3
XNNPACK  = libxnnpack-dev libcpuinfo-dev libpthreadpool-dev
APT      = env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0
SUDO     = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

deps:
	@dpkg -s $(PACKAGES) $(XNNPACK) >/dev/null 2>&1 && exit 0; set -e; \
	$(SUDO) $(APT) update; $(SUDO) $(APT) install --no-install-recommends $(PACKAGES); \
	if ! apt-cache madison libxnnpack-dev | grep -q '0\.0~git20\(2[4-9]\|[3-9]\)'; then \
		uri=$$(apt-get indextargets --format '$$(REPO_URI) $$(RELEASE) $$(COMPONENT)' 'Created-By: Packages' | \
			awk '$$3 == "main" && $$1 !~ /security/ { print $$1; exit }'); \
		printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' "$$uri" | \
			$(SUDO) tee /etc/apt/sources.list.d/etinspect-trixie.sources >/dev/null; \
		printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' | $(SUDO) tee /etc/apt/preferences.d/etinspect-trixie >/dev/null; \
		$(SUDO) $(APT) update; $(SUDO) $(APT) install --no-install-recommends -t trixie $(XNNPACK); \
	else $(SUDO) $(APT) install --no-install-recommends $(XNNPACK); fi

.PHONY: all run check tap conformance architectures speed foldcost latency asan tools mutate mutated rules monkey monkey-asan install clean deps
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
