# Everything a developer or a machine runs. `make help` lists the targets.
#
# The recipes hold one or two commands each; whatever needs a condition or a loop is a program in Scripts/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# The file that `make demo` sends; without one it sends the licenses of the system.
FILE ?=
# The folder of `make install`, and a folder in the place of the root folder.
PREFIX ?= /usr/local
DESTDIR ?=
# The scenarios that `make scenarios` plays; all but `attachments` and `crowd` when it is empty.
SCENARIOS ?=
# The seeds that `make simulate` and `make storage` play.
SEEDS ?= 1..10000
# The seeds that `make simulate` plays with the relay's store and the devices' outboxes in files.
STORED_SEEDS ?= 1..1000
# The seeds that `make simulate` plays with three relays that share their rooms.
SHARED_SEEDS ?= 1..2000
# The seeds whose lives `make simulate` plays, an hour of two to four devices each.
LIVES ?= 1..1000
# With TLS=1, `make simulate`, `scenarios`, `reconnect` and `weather` use TLS.
TLS ?=
# The losses that `make weather` plays, in percent, for how many seconds, and further options, such as --quick.
LOSS ?= 0 10 30 50
SECONDS_EACH ?= 210
WEATHER ?=
# Options of `make hostile`, such as --quick; see Benchmarks/Hostile/README.md.
HOSTILE ?=
# Options of `make operations`, such as --quick; see Scripts/operations --help.
OPERATIONS ?=
# Options of `make kill9`, such as `--bots 50`; see Scripts/kill9 --help.
KILL9 ?= --clients 1000 --relays 1000 --bots 200
# Options of `make cluster`; see Scripts/cluster --help. Partitions are between network namespaces where these are
# permitted.
CLUSTER ?= --rounds 200
namespaces = $(shell [ "$$(id -u)" = 0 ] && unshare --mount --net --pid --fork true 2>/dev/null && echo --namespaces)
# The sanitizer of `make sanitize`: thread, or address with leaks.
SANITIZER ?= thread
# How long `make soak` takes.
MINUTES ?= 30
# Planted faults that `make bugs` looks for; all when it is empty.
BUGS ?=
# How many mutations `make mutants` makes, and the seed that draws them.
MUTANTS ?= 200
MUTANTS_SEED ?= 1
# What `make fuzz` runs, and for how many seconds each, or with RUNS for how many executions each, and with BYTES the
# maximum length of an input. With KEEP=1 it only adds what it has learned to the committed inputs.
TARGET ?= all
SECONDS ?= 60
RUNS ?=
BYTES ?=
KEEP ?=
# What `make bench` measures, and how: suites and options, see Benchmarks/README.md.
BENCH ?=
# `--raise` records higher counts of instructions.
INSTRUCTIONS ?=

sources := Sources Tests Package.swift Dev/Sources Dev/Tests Dev/Package.swift Fuzz/Sources Fuzz/Package.swift \
	Examples/Sources Examples/Tests Examples/Package.swift Benchmarks/Sources Benchmarks/Tests Benchmarks/Package.swift
# The packages that are built in the build folder of the library.
dev := SWIFT=$(SWIFT) Scripts/swift-in Dev
fuzz := SWIFT=$(SWIFT) Scripts/swift-in Fuzz
examples := SWIFT=$(SWIFT) Scripts/swift-in Examples
# The tests of the protocol, whose coverage is measured.
core := ^(MartletWire|MartletLink|MartletEngine|MartletDifferential|Repository)Tests
# Tests that compute for seconds. They run apart from the tests with sockets, whose tasks they would delay beyond the
# timeouts of peers.
faults := MartletSQLiteTests\.(StoreFault|StoreRows|StoreSalvage|Outbox(Fault|File))
long := MartletSimulatorTests\.ClientLives|MartletLabTests\.Simulation|MartletStorageTests|$(faults)
computing := '$(core)|^($(long))'
# The number of other tests that run at a time. Each may have a relay and clients with threads and descriptors.
several := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=24

# Under a sanitizer, fewer tests with sockets run at a time. More of them would delay peers beyond the timeouts of S-29
# and C-47.
few := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16
sanitized := --sanitize $(SANITIZER) --scratch-path .build/sanitize-$(SANITIZER)
leaks := LSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/leaks.supp:print_suppressions=0

tls := $(if $(TLS),--tls)

# The programs contain the Swift runtime, so that they run on machines without it and have fewer resident pages. Packed
# relocations require glibc 2.36. The trait Foundation would add 5 MB to `martlet`, exported symbols 1 MB, and so would
# functions of strings that are part of the module for regular expressions, such as `replacing`. A section for each
# function, of which equal ones are linked once, saves 1 MB. No code asks for the name of a Unicode scalar, whose table
# of 0.5 MB is left out: a call would end the program. Without exceptions nothing searches the table of 0.4 MB for the
# frames of functions; backtraces use frame pointers, and debuggers the section without the table.
nameless := -Xlinker --wrap=_swift_stdlib_getScalarName \
	-Xlinker --defsym=__wrap__swift_stdlib_getScalarName=swift_deletedMethodError
static := --disable-default-traits --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker -z \
	-Xlinker pack-relative-relocs -Xlinker --no-export-dynamic -Xlinker --icf=all -Xswiftc -Xfrontend \
	-Xswiftc -function-sections -Xlinker --no-eh-frame-hdr $(nameless)
# The maximum number of bytes of `martlet` without its symbols, for installation and packages: 15 MiB.
max_size := 15728640
release := --configuration release $(if $(filter Linux,$(shell uname)),$(static))

# The suites of `make bench` with other servers, which have their own files of figures.
servers := $(filter peers idle durable chat,$(BENCH))
figures := $(if $(servers),peers,bench)

# Every target here is a name, none a file.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' Makefile)

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## install the system packages that the build needs and this machine lacks
	@Scripts/install-dependencies

# Both programs; the second starts the first, which lies beside it. `martlet conformance` reads the conformance kit.
build: deps ## build both programs for release
	@$(SWIFT) build $(release) --quiet --product martlet
	@$(dev) build $(release) --quiet --product martlet-lab
	@Scripts/drop-runpath .build/release/martlet .build/release/martlet-lab
	@Scripts/split-symbols .build/release/martlet .build/release/martlet-lab
	@Scripts/install-dependencies python3
	@Scripts/build-conformance .build/release/../share/martlet/martlet-conformance.pyz

program: deps ## build martlet alone for release
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/drop-runpath .build/release/martlet
	@Scripts/split-symbols .build/release/martlet=$(max_size)

install: ## install martlet after `make program`: make install PREFIX=/usr DESTDIR=folder
	@Scripts/install-dependencies python3
	@PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) Scripts/install .build/release/martlet

uninstall: ## remove what `make install` has installed
	@PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) Scripts/install --remove .build/release/martlet

deb: program ## build the Debian package, and check it with lintian
	@Scripts/install-dependencies debhelper lintian python3
	@Scripts/build-deb .build/release/martlet

package-test: deb ## test the package in a new installation of Debian, as root: installation, upgrade, tutorials, purge
	@Scripts/install-dependencies debootstrap
	@Scripts/test-package .build/deb/martlet_*.deb

demo: build ## send a file through a faulty network and compare: make demo FILE=picture.png
	@.build/release/martlet-lab demo $(if $(FILE),"$(FILE)")

scenarios: build ## run real processes over faulty networks: make scenarios SCENARIOS="attachments crowd"
	@Scripts/install-dependencies python3
	@Scripts/scenarios $(tls) $(SCENARIOS)

weather: deps ## lose real packets, and compare with plain TCP in the same weather: make weather WEATHER=--quick
	@Scripts/install-dependencies python3 ip nft
	@$(SWIFT) build $(release) --quiet --product martlet
	@Benchmarks/Weather/weather --loss "$(LOSS)" --seconds $(SECONDS_EACH) $(tls) $(WEATHER)

test: deps lint ## lint, build with warnings as errors and run every test
	@Scripts/install-dependencies fish gcc groff libwslay-dev man-db openssl python3 spin tshark zsh
	@Scripts/generate-registries --check
	@Scripts/generate-bounds --check
	@Dev/Scripts/planted-bugs --check
	@Scripts/test-registries
	@Scripts/check-embedded
	@$(SWIFT) build --build-tests --quiet
	@$(dev) build --build-tests --quiet
	@$(fuzz) build --quiet --product replay
	@SWIFT=$(SWIFT) Scripts/swift-test 20 --filter $(computing)
	@SWIFT=$(SWIFT) $(several) Scripts/swift-test 15 --skip $(computing)
	@Specs/dictionary/make --check
	@Specs/reference/make_vectors.py --check
	@Specs/reference/test_vectors.py
	@Specs/reference/test_completeness.py
	@Specs/reference/test_flips.py
	@Specs/reference/test_example.py
	@Benchmarks/Scale/test_scale.py
	@Specs/wireshark/test .build/debug
	@Specs/reference/differential.py --quiet --frames 8000 .build/debug/martlet-lab
	@Scripts/interoperability .build/debug/martlet
	@Scripts/conformance --test .build/debug/martlet
	@Scripts/kill9 --clients 20 --relays 20 --bots 5 .build/debug
	@Scripts/check-histories --test
	@Scripts/cluster --rooms 1 --rounds 6 --replacements 1 .build/debug
	@Scripts/operations --quick .build/debug
	@Scripts/test-completions .build/debug
	@Specs/model/check "authentication append" >/dev/null
	@.build/debug/replay Fuzz

check: ## lint, build and test the modules of the changed files, within a minute
	@SWIFT=$(SWIFT) Scripts/check

differential: build ## compare all implementations of the wire: a million frames, every flipped bit, a capture (tshark)
	@Scripts/install-dependencies python3 tshark
	@Specs/reference/differential.py --frames 1000000 .build/release/martlet-lab
	@Specs/reference/test_flips.py --every-bit --verbose .build/release/martlet-lab
	@.build/release/martlet-lab demo --capture .build/demo.pcap
	@Specs/wireshark/test --verbose .build/release .build/demo.pcap

conformance: deps ## judge the relay and the clients in Swift, Python and TypeScript, clause by clause
	@Scripts/install-dependencies python3 nodejs node-typescript
	@$(SWIFT) build --quiet --product martlet
	@Scripts/conformance .build/debug/martlet

lint: ## check the formatting of every Swift file
	@$(SWIFT) format lint --strict --parallel --recursive $(sources)

format: ## format every Swift file in place, comments that are too wide included
	@Scripts/install-dependencies python3
	@$(SWIFT) format format --in-place --parallel --recursive $(sources)
	@Scripts/wrap-comments $(sources)

examples: deps ## build and test the programs of Examples, run them, and compare what they write
	@Scripts/install-dependencies curl python3
	@$(SWIFT) build --quiet --product martlet
	@$(examples) build --build-tests --quiet
	@$(examples) test --skip-build --quiet --disable-xctest
	@Scripts/run-tutorial Examples/README.md

tutorials: examples ## run the commands of the tutorials, and compare what they write
	@$(dev) build --quiet --product martlet-lab
	@Scripts/run-tutorial Guides/tutorials/*.md

docs: deps ## build the reference documentation of the products into docs/, and fail on a warning
	@Scripts/docs

coverage: deps ## measure line coverage of the wire and the protocol; fails below 95 %
	@Scripts/install-dependencies python3
	@Scripts/coverage --filter '$(core)'

simulate: build ## play conversations and lives in simulated faulty networks: make simulate SEEDS=1..1000000
	@.build/release/martlet-lab simulate --seeds $(SEEDS) $(tls)
	@.build/release/martlet-lab simulate --seeds $(STORED_SEEDS) --store sqlite $(tls)
	@.build/release/martlet-lab simulate --seeds $(SHARED_SEEDS) --relays 3 $(tls)
	@.build/release/martlet-lab lives --seeds $(LIVES)

storage: deps ## simulate faults of files, and cut the power at 10,000 points: make storage SEEDS=1..100000
	@$(SWIFT) build --build-tests --quiet
	@MARTLET_POWER_LOSSES=10000 MARTLET_STORAGE_SEEDS=$(SEEDS) $(SWIFT) test --skip-build --quiet --disable-xctest \
		--filter 'power|MartletStorageTests'

kill9: deps ## kill clients, relays and bots, and check that nothing is lost or twice: make kill9 KILL9="--bots 50"
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/kill9 $(KILL9)

typescript: deps ## compile the client in TypeScript, and test it alone, with a relay and in a browser
	@Scripts/install-dependencies python3 nodejs node-typescript esbuild
	@$(SWIFT) build --quiet --product martlet
	@MARTLET=$(CURDIR)/.build/debug/martlet MARTLET_WEBSOCKET=1 Clients/TypeScript/run-tests

cluster: deps ## disturb three relays of one database, and compare what clients saw: make cluster CLUSTER="--relays 5"
	@Scripts/install-dependencies python3 postgresql nats-server ip nft
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/cluster $(namespaces) --max-recovery 3 --max-delivery 2 $(CLUSTER)

bugs: deps ## plant faults in a copy, one at a time, and let the simulator find each within 2,000 seeds
	@Scripts/install-dependencies python3
	@Dev/Scripts/planted-bugs $(BUGS)

mutants: deps ## make small mutations in the engines and report those that nothing notices: make mutants MUTANTS=200
	@Scripts/install-dependencies python3
	@Dev/Scripts/mutants --count $(MUTANTS) --seed $(MUTANTS_SEED)

reconnect: build ## cut a path every 3 s, and kill a relay with 20 and with 10,000 clients: make reconnect CLIENTS=2000
	@.build/release/martlet-lab reconnect
	@.build/release/martlet-lab storm $(if $(CLIENTS),--clients $(CLIENTS)) $(tls)

soak: build ## let 200 clients come, go and be cut off for MINUTES=30; fail when anything is lost or grows
	@.build/release/martlet-lab soak --minutes $(MINUTES)

operations: deps ## operate relays as an administrator does: make operations OPERATIONS="--only reload --quick"
	@Scripts/install-dependencies gcc openssl python3 influxdb libwslay-dev microsocks tinyproxy python:moto
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/operations $(OPERATIONS)

hostile: deps ## attack a relay in every way beside an honest pair: make hostile HOSTILE="--only acks --seconds 10"
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Benchmarks/Hostile/hostile $(HOSTILE)

sanitize: deps ## run every test under the thread sanitizer, or with SANITIZER=address under address and leak
	@$(SWIFT) build --build-tests --quiet $(sanitized)
	@$(dev) build --build-tests --quiet $(sanitized)
	@$(leaks) SWIFT=$(SWIFT) Scripts/swift-test 120 $(sanitized) --filter $(computing)
	@$(leaks) $(few) SWIFT=$(SWIFT) Scripts/swift-test 120 $(sanitized) --skip $(computing)

model: ## check the models of link, authentication and shared rooms, and that their mutants are caught (spin)
	@Scripts/install-dependencies spin gcc
	@Specs/model/check

fuzz: deps ## fuzz each target for a while: make fuzz SECONDS=600 TARGET=relay KEEP=1
	@Scripts/install-dependencies python3
	@Scripts/fuzz $(SECONDS) $(TARGET) $(if $(KEEP),keep) $(if $(RUNS),runs=$(RUNS)) $(if $(BYTES),bytes=$(BYTES))

# The suites peers and idle load other servers too, and take twenty minutes.
bench: deps ## measure beside C or other servers, and fail below a threshold: make bench BENCH="peers idle"
	@Scripts/install-dependencies protobuf-compiler libprotobuf-dev fortunes fortunes-zh \
		$(if $(findstring --instructions,$(BENCH)),valgrind) \
		$(if $(filter peers idle durable,$(BENCH)),mosquitto nats-server openssl redis-server) \
		$(if $(filter chat,$(BENCH)),ejabberd erlang-p1-sqlite3 prosody lua-dbi-sqlite3)
	@$(SWIFT) build $(release) --quiet --product martlet
	@$(MAKE) --no-print-directory -C Benchmarks/Baselines
	@$(SWIFT) build --package-path Benchmarks --configuration release --quiet --product bench
	@cd Benchmarks && .build/release/bench $(BENCH) --thresholds thresholds.json --json .build/$(figures).json \
		--report .build/$(figures).html

instructions: deps ## count the instructions of the engine and of frames, and fail beyond 2 % of the recorded counts
	@Scripts/install-dependencies python3 valgrind
	@$(SWIFT) build --package-path Benchmarks --configuration release --quiet --product bench
	@Scripts/count-instructions $(INSTRUCTIONS)
