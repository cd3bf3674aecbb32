# Everything a developer or a machine runs. `make help` lists the targets.
#
# The recipes hold one or two commands each; whatever needs a condition or a loop is a program in Scripts/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# The file that `make demo` sends; without one it sends the licenses of the system.
FILE ?=
# How many clients `make crowd` starts.
CLIENTS ?= 2000
# The seeds that `make simulate` and `make storage` play.
SEEDS ?= 1..10000
# The seeds that it plays with the relay's store and the devices' outboxes in files.
STORED_SEEDS ?= 1..1000
# The seeds that `make lives` plays, an hour of two to four devices each.
LIVES ?= 1..1000
# With TLS=1, `make simulate`, `scenarios`, `storm` and `weather` use TLS.
TLS ?=
# The losses that `make weather` plays, in percent, for how many seconds, and further options, such as --quick.
LOSS ?= 0 10 30 50
SECONDS_EACH ?= 210
WEATHER ?=
# Options of `make hostile`, such as --quick; see Benchmarks/Hostile/README.md.
HOSTILE ?=
# Options of `make operations`, such as --quick; see Scripts/operations --help.
OPERATIONS ?=
# How often `make kill9` kills clients, and the relay.
KILLS ?= 1000
# How long `make soak` takes.
MINUTES ?= 30
# Planted faults that `make bugs` looks for; all when it is empty.
BUGS ?=
# How many mutations `make mutants` makes, and the seed that draws them.
MUTANTS ?= 200
MUTANTS_SEED ?= 1
# What `make fuzz` runs, and for how many seconds each.
TARGET ?= all
SECONDS ?= 60
# What `make bench` measures, and how: suites and options, see Benchmarks/README.md.
BENCH ?=
# `--raise` records higher counts of instructions.
INSTRUCTIONS ?=

sources := Sources Tests Package.swift Fuzz/Sources Fuzz/Package.swift Benchmarks/Sources Benchmarks/Tests \
	Benchmarks/Package.swift
# The tests of the protocol, whose coverage is measured.
core := ^(MartletWire|MartletLink|MartletEngine|Repository)Tests
# Tests that compute for seconds. They run apart from the tests with sockets, whose tasks they would delay beyond the
# timeouts of peers.
faults := MartletSQLiteTests\.(StoreFault|StoreSalvage|Outbox(Fault|File))
long := MartletTestKitTests\.ClientLives|MartletLabTests\.Simulation|MartletStorageTests|$(faults)
computing := '$(core)|^($(long))'
# The number of other tests that run at a time. Each may have a relay and clients with threads and descriptors.
several := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=48

# Under a sanitizer, fewer tests with sockets run at a time. More of them would delay peers beyond the timeouts of S-29
# and C-47.
few := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16
leaks := LSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/leaks.supp:print_suppressions=0

tls := $(if $(TLS),--tls)

# The programs contain the Swift runtime, so that they run on machines without it and have fewer resident pages. Packed
# relocations require glibc 2.36. The trait Foundation would add 5 MB to `martlet`, exported symbols 1 MB, and so would
# functions of strings that are part of the module for regular expressions, such as `replacing`.
static := --disable-default-traits --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker -z \
	-Xlinker pack-relative-relocs -Xlinker --no-export-dynamic
# The maximum number of bytes of `martlet` without its symbols: 15 MiB.
max_size := 15728640
release := --configuration release $(if $(filter Linux,$(shell uname)),$(static))

# Every target here is a name, none a file.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' Makefile)

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## install the system packages that the build needs and this machine lacks
	@Scripts/install-dependencies

build: deps ## build everything for release
	@$(SWIFT) build $(release) --quiet
	@Scripts/drop-runpath .build/release/martlet .build/release/martlet-lab
	@Scripts/split-symbols .build/release/martlet=$(max_size) .build/release/martlet-lab

# Both programs; the second starts the first, which lies beside it.
programs: deps
	@$(SWIFT) build $(release) --quiet --product martlet
	@$(SWIFT) build $(release) --quiet --product martlet-lab
	@Scripts/drop-runpath .build/release/martlet .build/release/martlet-lab
	@Scripts/split-symbols .build/release/martlet=$(max_size) .build/release/martlet-lab

demo: programs ## send a file through a faulty network and compare: make demo FILE=picture.png
	@.build/release/martlet-lab demo $(if $(FILE),"$(FILE)")

dissect: programs ## let tshark read a capture of the demo: nothing malformed, every type of frame
	@Scripts/install-dependencies python3 tshark
	@.build/release/martlet-lab demo --capture .build/demo.pcap
	@Specs/wireshark/test --verbose .build/release .build/demo.pcap

scenarios: programs ## run the conversations between real processes over faulty networks, and compare the files
	@Scripts/scenarios $(tls)

attachments: programs ## send 1 GiB over a link that is cut, with kills: make attachments SIZE=67108864
	@Scripts/install-dependencies python3
	@Scripts/attachments $(if $(SIZE),--size $(SIZE))

crowd: deps ## let 2,000 clients talk in 100 rooms and check that everybody got everything: make crowd CLIENTS=500
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/crowd $(CLIENTS)

weather: deps ## lose real packets, and compare with plain TCP in the same weather: make weather WEATHER=--quick
	@Scripts/install-dependencies python3 ip nft
	@$(SWIFT) build $(release) --quiet --product martlet
	@Benchmarks/Weather/weather --loss "$(LOSS)" --seconds $(SECONDS_EACH) $(tls) $(WEATHER)

test: deps lint ## lint, build with warnings as errors and run every test
	@Scripts/install-dependencies gcc openssl python3 spin tshark
	@Scripts/generate-registries --check
	@Scripts/test-registries
	@$(SWIFT) build --build-tests --quiet
	@SWIFT=$(SWIFT) Scripts/swift-test 20 --filter $(computing)
	@SWIFT=$(SWIFT) $(several) Scripts/swift-test 15 --skip $(computing)
	@Specs/dictionary/make --check
	@Specs/reference/make_vectors.py --check
	@Specs/reference/test_vectors.py
	@Specs/reference/test_completeness.py
	@Specs/reference/test_flips.py
	@Specs/reference/test_example.py
	@Specs/wireshark/test .build/debug
	@Specs/reference/differential.py --quiet --frames 8000 .build/debug/martlet-lab
	@Scripts/interoperability .build/debug/martlet
	@Scripts/kill9 --clients 20 --relays 20 --bots 5 .build/debug
	@Scripts/operations --quick .build/debug
	@Specs/model/check authentication >/dev/null
	@$(MAKE) --no-print-directory replay

differential: deps ## compare both implementations of the wire over a million frames, and flip every bit of the vectors
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet-lab
	@Specs/reference/differential.py --frames 1000000 .build/release/martlet-lab
	@Specs/reference/test_flips.py --every-bit --verbose .build/release/martlet-lab

replay: deps ## give every committed input of the fuzz targets to its target once
	@$(SWIFT) build --package-path Fuzz --quiet --product replay
	@Fuzz/.build/debug/replay Fuzz

lint: ## check the formatting of every Swift file
	@$(SWIFT) format lint --strict --parallel --recursive $(sources)

format: ## format every Swift file in place, comments that are too wide included
	@Scripts/install-dependencies python3
	@$(SWIFT) format format --in-place --parallel --recursive $(sources)
	@Scripts/wrap-comments $(sources)

docs: deps ## build the reference documentation of the public modules into docs/
	@Scripts/docs

coverage: deps ## measure line coverage of the wire and the protocol; fails below 95 %
	@Scripts/install-dependencies python3
	@Scripts/coverage --filter '$(core)'

simulate: deps ## play whole conversations over a simulated faulty network: make simulate SEEDS=1..1000000
	@$(SWIFT) build $(release) --quiet --product martlet-lab
	@.build/release/martlet-lab simulate --seeds $(SEEDS) $(tls)
	@.build/release/martlet-lab simulate --seeds $(STORED_SEEDS) --store sqlite $(tls)

lives: deps ## run real clients and relays in virtual time, and check the promises: make lives LIVES=1..1000
	@$(SWIFT) build $(release) --quiet --product martlet-lab
	@.build/release/martlet-lab lives --seeds $(LIVES)

powerloss: deps ## cut the power of the databases at 10,000 points, and check that nothing accepted is lost
	@$(SWIFT) build --build-tests --quiet
	@MARTLET_POWER_LOSSES=10000 $(SWIFT) test --skip-build --quiet --disable-xctest --filter 'power'

storage: deps ## simulate faults of the files of outbox, store, timeline and attachments: make storage SEEDS=1..100000
	@$(SWIFT) build --build-tests --quiet
	@MARTLET_STORAGE_SEEDS=$(SEEDS) $(SWIFT) test --skip-build --quiet --disable-xctest --filter MartletStorageTests

kill9: deps ## kill clients and relays 1,000 times each, and check that nothing is lost or twice: make kill9 KILLS=50
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/kill9 --clients $(KILLS) --relays $(KILLS)

bot: deps ## terminate and kill a bot under load 200 times, and check that each command has one reply: make bot KILLS=50
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/kill9 --clients 0 --relays 0 --bots $(if $(filter command line,$(origin KILLS)),$(KILLS),200)

bugs: deps ## plant faults in a copy, one at a time, and let the simulator find each within 2,000 seeds
	@Scripts/install-dependencies python3
	@Scripts/planted-bugs $(BUGS)

mutants: deps ## make small mutations in the engines and report those that nothing notices: make mutants MUTANTS=200
	@Scripts/install-dependencies python3
	@Scripts/mutants --count $(MUTANTS) --seed $(MUTANTS_SEED)

reconnect: programs ## cut a path every 3 s, and kill a relay with 20 and with 10,000 clients on it
	@.build/release/martlet-lab reconnect
	@.build/release/martlet-lab storm

storm: programs ## kill a relay with 10,000 clients on it and see all come back: make storm CLIENTS=10000
	@.build/release/martlet-lab storm $(if $(filter command line,$(origin CLIENTS)),--clients $(CLIENTS)) $(tls)

soak: programs ## let 200 clients come, go and be cut off for MINUTES=30; fail when anything is lost or grows
	@.build/release/martlet-lab soak --minutes $(MINUTES)

operations: deps ## operate relays as an administrator does: make operations OPERATIONS="--only reload --quick"
	@Scripts/install-dependencies gcc openssl python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Scripts/operations $(OPERATIONS)

hostile: deps ## attack a relay in every way beside an honest pair: make hostile HOSTILE="--only acks --seconds 10"
	@Scripts/install-dependencies python3
	@$(SWIFT) build $(release) --quiet --product martlet
	@Benchmarks/Hostile/hostile $(HOSTILE)

tsan: deps ## run every test under the thread sanitizer
	@$(SWIFT) build --build-tests --quiet --sanitize thread --scratch-path .build/tsan
	@$(SWIFT) test --skip-build --quiet --disable-xctest --sanitize thread --scratch-path .build/tsan \
		--filter $(computing)
	@$(few) $(SWIFT) test --skip-build --quiet --disable-xctest --sanitize thread --scratch-path .build/tsan \
		--skip $(computing)

asan: deps ## run every test under the address and leak sanitizers
	@$(SWIFT) build --build-tests --quiet --sanitize address --scratch-path .build/asan
	@$(leaks) $(SWIFT) test --skip-build --quiet --disable-xctest --sanitize address --scratch-path .build/asan \
		--filter $(computing)
	@$(leaks) $(few) $(SWIFT) test --skip-build --quiet --disable-xctest --sanitize address \
		--scratch-path .build/asan --skip $(computing)

model: ## check the models of the link and of authentication, and that their mutants are caught (spin)
	@Scripts/install-dependencies spin gcc
	@Specs/model/check

fuzz: deps ## fuzz each target for a while: make fuzz SECONDS=600 TARGET=relay
	@Scripts/install-dependencies python3
	@Scripts/fuzz $(SECONDS) $(TARGET)

fuzz-keep: deps ## add what `make fuzz` has learned to the committed inputs
	@Scripts/install-dependencies python3
	@Scripts/fuzz 0 $(TARGET) keep

# What both of the next need: the tool, the programs in C, and the benchmarks themselves.
bench-programs: deps
	@Scripts/install-dependencies protobuf-compiler libprotobuf-dev fortunes fortunes-zh \
		$(if $(findstring --instructions,$(BENCH)),valgrind)
	@$(SWIFT) build $(release) --quiet --product martlet
	@$(MAKE) --no-print-directory -C Benchmarks/Baselines
	@$(SWIFT) build --package-path Benchmarks --configuration release --quiet --product bench

bench: bench-programs ## measure beside C and protobuf, and fail below a threshold: make bench BENCH="frames --rounds 9"
	@cd Benchmarks && .build/release/bench $(BENCH) --thresholds thresholds.json --json .build/bench.json \
		--report .build/bench.html

instructions: deps ## count the instructions of the engine and of frames, and fail beyond 2 % of the recorded counts
	@Scripts/install-dependencies python3 valgrind
	@$(SWIFT) build --package-path Benchmarks --configuration release --quiet --product bench
	@Scripts/count-instructions $(INSTRUCTIONS)

bench-peers: bench-programs ## give mosquitto, NATS and Redis the same load, and fail below a threshold (20 minutes)
	@Scripts/install-dependencies mosquitto nats-server openssl redis-server
	@cd Benchmarks && .build/release/bench peers idle $(BENCH) --thresholds thresholds.json --json .build/peers.json \
		--report .build/peers.html
