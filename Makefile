# Builds, tests and installs Skipjack. Everything made lies under build/.
#
#   make             the program, build/skipjack
#   make test        all tests; make test-long: the heavy ones too; make test-ROOM: one room's;
#                    TEST_CPU=haswell TEST_THREADS=64: as on a machine with such a CPU (tests/README.md)
#   make test-programs  builds all that make test runs
#   make test-threads  tests of what has threads, under ThreadSanitizer
#   make mutations   changes of the core, one at a time, that its tests must notice: minutes each, an hour in all
#   make test-chaos  a farm while everything fails, for minutes; SEED=7, KEEP=folder for its database
#   make gpu-test    the solvers, its own verifying, the kill tests and minutes of tuning on a GPU
#   make gpu-bench   networks tuned on it beside cuDNN in PyTorch; GPU_BENCH="--sets 3d --time-limit 540": its options
#   make lint        formatting, clang-tidy, the rules between rooms
#   make bench       all benchmarks; make bench-NAME: one of them; make bench-release: of what ships
#   make solvers-table  what each solver serves, into solvers/README.md
#   make nightly-schema  the fields of a night's description, into coordinator/nights/nightly.schema.json
#   make tuned-schema    the fields of autotune's file, into coordinator/network/autotune/tuned.schema.json
#   make layer-columns  the columns of layer tables, into coordinator/import/LAYER_TABLES.md
#   make onnx-operators  the operators of ONNX that are read, into coordinator/network/onnx/ONNX.md
#   make pages       man pages and the completion for bash, into build/pages
#   make tutorial    the texts of coordinator/TUTORIAL.md
#   make life-of-a-job  a job's forms, into coordinator/LIFE_OF_A_JOB.md
#   make screenshots  the dashboard's images, for coordinator/serve/DASHBOARD.md
#   make demo        tunes ResNet-50 on this machine, within ten minutes
#   make reader      libskipjackdb, which reads .sjdb files in other programs
#   make install     into PREFIX, below DESTDIR; make uninstall takes it away again
#   make bundle      an archive that runs from any folder; BUNDLE_POSTGRESQL=1: with PostgreSQL
#
# CC=clang and SANITIZE=address,undefined build in folders of their own; V=1 shows
# commands. Targets that run something first install what this machine lacks
# (deploy/install-deps, which says what); DEPS=true leaves that out.

PREFIX ?= /usr/local
DEPS ?= deploy/install-deps
DEMO_ARGS ?= --budget 420 --allow-drift
SKIPJACK_DATA ?= $(realpath ../shared/data)

ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
variant = $(addprefix /,$(filter clang%,$(notdir $(CC))) $(subst $(comma),-,$(SANITIZE)))
BUILD ?= build$(subst $() ,,$(variant))

packages := glib-2.0 libuv libpq jansson sqlite3 libcurl libmicrohttpd libprotobuf-c
CFLAGS := -std=c17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes \
	-Wstrict-prototypes -Wvla -Wformat=2 -Wwrite-strings -I. -I$(BUILD)/gen \
	$(shell pkg-config --cflags $(packages) 2>/dev/null) $(EXTRA_CFLAGS)
LIBS := $(shell pkg-config --libs $(packages) 2>/dev/null) -lbz2 -lz -lzstd -ldl -lm -lpthread
ifneq ($(SANITIZE),)
sanitize_with = -fsanitize=$(1) -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	-Wno-maybe-uninitialized $(if $(findstring clang,$(CC)),-Wno-unknown-warning-option)
sanitize := $(call sanitize_with,$(SANITIZE:%$(comma)fuzzer-no-link=%)) \
	$(if $(filter %$(comma)fuzzer-no-link,$(SANITIZE)),-fsanitize-coverage=inline-8bit-counters$(comma)pc-table)
endif

# Tests are linked by the hundred: by a linker that is faster than ld, where there is one.
quick_linker := $(if $(findstring clang,$(CC)),\
	$(addprefix --ld-path=,$(shell for name in ld.lld ld.lld-19 ld.lld-15; do command -v $$name && break; done)),\
	$(if $(SANITIZE),,$(if $(shell command -v ld.gold),-fuse-ld=gold)))

run = $(if $(V),,@echo '$(1) $@' &&) mkdir -p $(@D) &&
compile = $(call run,CC) $(CC) $(CFLAGS) $(sanitize) -MMD -MP -c -o $@ $<
link = $(call run,LINK) $(CC) $(sanitize) $(if $(filter $(BUILD)/tests/%,$@),$(quick_linker)) -o $@ $(filter %.o,$^) \
	-Wl,--as-needed,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
archives = $(1:%=$(BUILD)/lib%.a)
parallel = +$(MAKE) --no-print-directory $(if $(V),,--silent) \
	$(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: all test test-programs test-long test-chaos gpu-test gpu-bench lint mutations bench bench-release bench-deps solvers-table layer-columns onnx-operators nightly-schema tuned-schema pages life-of-a-job tutorial screenshots demo reader install uninstall \
	install-reader uninstall-reader clean \
	libraries sanitized-tests thread-tests test-threads fuzzers bundle FORCE
all: $(BUILD)/skipjack reader

# ---- Rooms. Each folder with its subfolders is one archive, and a test links only
# the archives that its own room may know: a room's broken file stays that room's. Tests of
# kernels/ also link worker/, whose devices run the kernels.

rooms := solvers kernels schema worker export coordinator
# Folders of coordinator that other rooms may know: archives of their own.
parts := coordinator-cli coordinator-import coordinator-network
solvers_sees := solvers
kernels_sees := kernels solvers
kernels_runs := worker
schema_sees := schema solvers coordinator-cli
worker_sees := worker schema kernels solvers coordinator-cli
export_sees := export schema solvers $(parts)
coordinator_sees := $(rooms) $(parts)
faults_sees := $(rooms) $(parts)
chaos_sees := $(rooms) $(parts)
bench_sees := $(rooms) $(parts)
fuzz_sees := $(rooms) $(parts)

# Files at any depth below folders: $(call below,FOLDERS,PATTERN).
below = $(sort $(shell find $(wildcard $(1)) -type f -name '$(2)'))
sources_of = $(filter-out coordinator/main.c kernels/tools/% export/sjdb/reader/examples/% tests/support/doubles/gpu_double% \
	tests/support/doubles/monitor_double.c tests/support/doubles/cpu_mask.c tests/support/doubles/frame_tap.c,$(call below,$(1),*.c))
$(foreach room,$(rooms) tests/support,$(eval $(notdir $(room))_sources := $(call sources_of,$(room))))
solvers_sources += gen/kernel_hashes.c
kernels_sources += gen/kernel_sources.c
schema_sources += gen/migrations.c gen/definitions.c
coordinator_sources += gen/page_files.c
$(foreach part,$(parts),$(eval $(part)_sources := $(filter $(subst -,/,$(part))/%,$(coordinator_sources))))
coordinator-import_sources += gen/network_tables.c
coordinator-network_sources += gen/onnx.pb-c.c
coordinator_sources := $(filter-out $(foreach part,$(parts),$($(part)_sources)),$(coordinator_sources))

define archive
$(BUILD)/lib$(1).a: $(call objects,$($(1)_sources)) $(BUILD)/list/$(1)_sources
	$$(call run,AR) rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach room,$(rooms) $(parts) support,$(eval $(call archive,$(room))))

$(BUILD)/skipjack: $(call objects,coordinator/main.c gen/commit.c) $(call archives,$(rooms) $(parts))
	$(link)

# The same program with solvers that crash, hang and lie, for the fault tests. Its own
# objects come first, so the linker takes none of the same name from the archives.
$(BUILD)/skipjack-faults: $(call objects,coordinator/main.c gen/commit.c $(wildcard tests/faults/solver_*.c) \
			gen/faults/kernel_sources.c gen/faults/kernel_hashes.c) $(call archives,$(rooms) $(parts))
	$(link)

# The same program, and a worker, with the solvers of the simulated year.
$(BUILD)/skipjack-year: $(call objects,coordinator/main.c tests/year/year_solvers.c gen/commit.c) $(call archives,$(rooms) $(parts))
	$(link)
$(BUILD)/year-worker: $(call objects,tests/year/year_worker.c tests/year/year_solvers.c) $(call archives,$(rooms) $(parts))
	$(link)
year_programs := $(BUILD)/skipjack-year $(BUILD)/year-worker

$(BUILD)/obj/%.o: %.c $(BUILD)/list/CFLAGS
	$(compile)

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/list/CFLAGS
	$(compile)

# ---- The library that others read .sjdb files with: libc and libzstd alone, shared and static.

reader_version := $(shell sed -n 's/.*return "\([0-9.]*\)";/\1/p' export/sjdb/reader/file.c)
reader_name := libskipjackdb.so.$(reader_version)
reader_soname := libskipjackdb.so.$(firstword $(subst ., ,$(reader_version)))
reader_sources := $(sort $(wildcard export/sjdb/reader/*.c))
reader: $(BUILD)/reader/$(reader_name) $(BUILD)/reader/libskipjackdb.a

$(BUILD)/obj/shared/%.o: %.c $(BUILD)/list/CFLAGS
	$(compile) -fPIC

$(BUILD)/reader/$(reader_name): $(reader_sources:%.c=$(BUILD)/obj/shared/%.o) export/sjdb/reader/libskipjackdb.map \
		$(BUILD)/list/reader_sources
	$(call run,LINK) $(CC) $(sanitize) -shared -o $@ $(filter %.o,$^) -Wl,-soname,$(reader_soname) \
		-Wl,--version-script=export/sjdb/reader/libskipjackdb.map $(if $(sanitize),,-Wl,-z,defs) -lzstd

# Lookups are what it is for.
$(BUILD)/obj/export/sjdb/reader/%.o $(BUILD)/obj/shared/export/sjdb/reader/%.o: private CFLAGS += -O3

# Position-independent too: it may become part of somebody's shared library.
$(BUILD)/reader/libskipjackdb.a: $(reader_sources:%.c=$(BUILD)/obj/shared/%.o) $(BUILD)/list/reader_sources
	$(call run,AR) rm -f $@ && ar rcs $@ $(filter %.o,$^)

# The examples include it as its users do; so does what tests one.
as_users := $(wildcard export/sjdb/reader/examples/*.c) $(call below,tests/export,test_run_check.c)
$(as_users:%.c=$(BUILD)/obj/%.o) $(as_users:%.c=$(BUILD)/tidy/%.ok) $(as_users:%.c=$(BUILD)/tidy/%.analyzed): private CFLAGS += -Iexport/sjdb/reader

# ---- Sources made from text: device code, its hashes, the SQL.

device_files := $(sort $(foreach kind,h cl s,$(call below,kernels/device,*.$(kind))))
fault_files := $(device_files) $(sort $(wildcard tests/faults/*.cl tests/faults/*.s))
migration_files := $(sort $(wildcard schema/sql/tables/*.sql))
definition_files := $(sort $(wildcard schema/sql/functions/*.sql))

networks := $(sort $(wildcard coordinator/networks/*.csv))

# The dashboard's files and the API's description, with Chart.js and its licence as Debian's libjs-chart.js has them.
CHART_JS ?= /usr/share/javascript/chart.js/chart.min.js
CHART_LICENCE ?= /usr/share/doc/libjs-chart.js/copyright
page_parts := $(sort $(foreach kind,html css js svg,$(wildcard coordinator/serve/page/*.$(kind)))) \
	coordinator/serve/openapi.json $(BUILD)/page/chart.min.js $(BUILD)/page/chart-licence.txt
$(BUILD)/page/chart.min.js: $(CHART_JS)
	$(call run,COPY) cp $< $@
$(BUILD)/page/chart-licence.txt: $(CHART_LICENCE)
	$(call run,COPY) cp $< $@
$(CHART_JS) $(CHART_LICENCE):
	@echo '$@ is missing: the dashboard draws with Chart.js 3. deploy/install-deps installs it (libjs-chart.js);' \
		'elsewhere name its files: make CHART_JS=FILE CHART_LICENCE=FILE' >&2; exit 1

$(BUILD)/embed: kernels/tools/embed.c schema/sql/numbers.h $(BUILD)/list/CFLAGS
	$(call run,CC) $(CC) $(CFLAGS) -o $@ $< $(LIBS)

define embedded
$(1:%=$(BUILD)/gen/%.c): $(BUILD)/embed $($(2)) $(BUILD)/list/$(2)
	$$(call run,EMBED) $(BUILD)/embed $$(basename $$(@F)) $($(2)) >$$@
endef
$(eval $(call embedded,kernel_sources kernel_hashes,device_files))
$(eval $(call embedded,faults/kernel_sources faults/kernel_hashes,fault_files))
$(eval $(call embedded,migrations,migration_files))
$(eval $(call embedded,definitions,definition_files))
$(eval $(call embedded,page_files,page_parts))
$(eval $(call embedded,network_tables,networks))

# The decoder of ONNX models.
onnx_decoder := $(BUILD)/gen/onnx.pb-c.c
$(onnx_decoder): coordinator/network/onnx/onnx.proto
	$(call run,PROTOC) protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(onnx_decoder:.c=.h): $(onnx_decoder) ;
# Its header is in that of the reader, which commands and tests include.
$(call objects,$(call below,coordinator,*.c) $(call below,tests,*.c)): | $(onnx_decoder)

# The commit and its day, for --version: nothing is linked again unless they change. A tarball has none; name it
# with COMMIT=.
ifeq ($(origin COMMIT),undefined)
COMMIT := $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 2>/dev/null))
COMMIT_DAY := $(if $(COMMIT),$(shell git log -1 --format=%cs 2>/dev/null))
endif
commit := $(or $(COMMIT),unknown) $(COMMIT_DAY)
$(BUILD)/gen/commit.c: $(BUILD)/list/commit
	$(call run,GEN) printf '%s\n' '#include "schema/monitor/version.h"' \
		'const char skipjack_commit[] = "$(word 1,$(commit))";' \
		'const char skipjack_commit_day[] = "$(word 2,$(commit))";' >$@

# A variable's value as a file, rewritten only when it changes: what is made from a list
# of files is made again when one comes or goes, and objects when the flags change.
$(BUILD)/list/%: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $($*)' | cmp -s - $@ || echo '$(CC) $($*)' >$@

$(BUILD)/list/CFLAGS: libraries
libraries:
	@pkg-config --exists --print-errors $(packages) || \
		{ echo 'libraries are missing, to get them: deploy/install-deps' >&2; exit 1; }

# ---- Tests. Every .c file below tests/ROOM is a program and those named test_* are run, as is every
# script tests/*.t and every .t file below tests/ROOM. All speak TAP. tests/support is linked to each.

test_files = $(foreach room,$(1),$(if $(filter .,$(room)),$(wildcard tests/./$(2)),$(call below,tests/$(room),$(2))))
programs_of = $(patsubst %.c,$(BUILD)/%,$(filter-out tests/faults/solver_%,$(call test_files,$(1),*.c)))
tests_of = $(patsubst %.c,$(BUILD)/%,$(call test_files,$(1),test_*.c)) $(call test_files,$(1),*.t)

define test_program
$(call programs_of,$(1)): $(BUILD)/%: $(BUILD)/obj/%.o $(call archives,support $($(1)_sees) $($(1)_runs))
	$$(link) $(2)
endef
$(foreach room,$(rooms) faults chaos bench,$(eval $(call test_program,$(room))))
$(eval $(call test_program,fuzz,-fsanitize=fuzzer))

# All code reports its coverage to a fuzzer. The values that it compares are reported by the files that fuzz targets
# call and by the files beside them (of solvers/framework only by those that read text): a test takes three times as
# long if each comparison is reported.
ifneq ($(filter %$(comma)fuzzer-no-link,$(SANITIZE)),)
fuzzed_headers := $(shell sed -n 's/^\#include "\(.*\)"/\1/p' $(wildcard tests/fuzz/*.c))
fuzzed := $(wildcard tests/fuzz/*.c solvers/framework/solver.c solvers/framework/target.c \
	$(patsubst %,%*.c,$(filter-out solvers/framework/,$(sort $(dir $(fuzzed_headers))))))
$(call objects,$(fuzzed)): private sanitize := $(call sanitize_with,$(SANITIZE))

# Two thirds of the time that such a compilation takes go into optimizing. Most files run too little in tests to win
# that back. Solvers, tests' support, verifying, .sjdb files, the judge of nights and what fuzzers call run up to four
# times as long without.
unoptimized := $(filter-out $(fuzzed) tests/support/% coordinator/nights/judge/% worker/verify/% export/sjdb/%,\
	$(call below,coordinator schema worker export tests,*.c))
$(call objects,$(unoptimized)): private CFLAGS += -O0
endif

# Examples are in no archive: their test links the object.
$(BUILD)/tests/export/sjdb/reader/test_run_check: $(call objects,export/sjdb/reader/examples/run_check.c)

# Doubles of a GPU's runtime library and of the libraries that watch GPUs; tests open them in their place.
gpu_double := $(BUILD)/tests/gpu_double.so
$(gpu_double): $(wildcard tests/support/doubles/gpu_double*.c) tests/support/doubles/gpu_double.h $(BUILD)/list/CFLAGS
	$(call run,LINK) $(CC) $(CFLAGS) $(sanitize) -fPIC -shared -o $@ $(filter %.c,$^)
monitor_double := $(BUILD)/tests/monitor_double.so
$(monitor_double): tests/support/doubles/monitor_double.c $(BUILD)/list/CFLAGS
	$(call run,LINK) $(CC) $(CFLAGS) $(sanitize) -fPIC -shared -o $@ $<
$(BUILD)/tests/worker/device/test_device_gpu $(BUILD)/tests/worker/device/test_gpu_monitor $(BUILD)/tests/worker/device/test_gpu_clocks $(BUILD)/tests/worker/agent/test_agent_row \
	$(BUILD)/tests/faults/test_gpu_faults $(BUILD)/tests/faults/test_gpu_devices: | $(gpu_double) $(monitor_double)
$(BUILD)/tests/export/sjdb/reader/graph_sjdb: | $(gpu_double)

# Copies the frames between agent and children, for the page coordinator/LIFE_OF_A_JOB.md.
frame_tap := $(BUILD)/tests/frame_tap.so
$(frame_tap): tests/support/doubles/frame_tap.c $(BUILD)/list/CFLAGS
	$(call run,LINK) $(CC) $(CFLAGS) $(sanitize) -fPIC -shared -o $@ $<
$(BUILD)/tests/coordinator/life_of_a_job_forms: | $(frame_tap)

# PoCL as it is on an older CPU (TEST_CPU), and with another number of threads (TEST_THREADS). Tests are run only
# if PoCL's device then is the one that was asked for.
cpu_mask := $(BUILD)/tests/cpu_mask.so
$(cpu_mask): tests/support/doubles/cpu_mask.c $(BUILD)/list/CFLAGS
	$(call run,LINK) $(CC) $(CFLAGS) $(sanitize) -fPIC -shared -o $@ $<
$(BUILD)/tests/kernels/toolchains/test_opencl: | $(cpu_mask)
ifneq ($(TEST_CPU),)
export OCL_ICD_VENDORS := $(CURDIR)/$(cpu_mask)
export SKIPJACK_TEST_CPU := $(TEST_CPU)
endif
ifneq ($(TEST_THREADS),)
export POCL_MAX_PTHREAD_COUNT := $(TEST_THREADS)
endif
machine_test := $(if $(TEST_CPU)$(TEST_THREADS),$(BUILD)/tests/kernels/toolchains/test_opencl)
check_machine = $(if $(machine_test),@$(machine_test) --tap -p /opencl/device_is_the_one_asked_for)

# Assembly is among the fault tests' device code alone.
$(BUILD)/tests/kernels/test_program: $(call objects,gen/faults/kernel_sources.c gen/faults/kernel_hashes.c)

# Tests run a second time with AddressSanitizer and UndefinedBehaviorSanitizer, built by clang as the fuzzers are;
# -g1 keeps the line of a finding.
sanitized_build := build/sanitized
make_sanitized = $(parallel) CC=clang SANITIZE=address,undefined,fuzzer-no-link BUILD=$(sanitized_build) \
	EXTRA_CFLAGS='$(EXTRA_CFLAGS) -g1'
# Left out: tests that mostly compile kernels (except test_conv_kernels), tests of build/skipjack itself, and find-dbs
# of 100,000 keys, which a fuzz target reads.
unsanitized := $(BUILD)/tests/kernels/test_conv_% $(BUILD)/tests/kernels/device/% %_compile %_opencl %_find_db \
	$(addprefix %/test_,build_child eval_child workbench judge judge_reference judge_compare agent agent_row prior db_blobs golden_command report_rejected)
sanitized_tests := $(patsubst $(BUILD)/%,$(sanitized_build)/%,$(BUILD)/tests/kernels/test_conv_kernels \
	$(filter-out $(unsanitized),$(filter $(BUILD)/%,$(call tests_of,$(rooms)))))
# Most of them look at the same cases in both builds: the short suite runs these with sanitizers alone. The others, known
# by functions of tests/support/test_effort.h, look at more cases without.
effort_counts := $(shell grep -lwE 'test_(effort|is_sanitized|is_case)' $(patsubst $(sanitized_build)/%,%.c,$(sanitized_tests)))
# valgrind.t runs these programs; valgrind and sanitizers exclude each other.
valgrind_runs := $(addprefix $(BUILD)/tests/export/sjdb/reader/test_,reader_threads choose choose_target)
sanitized_alone = $(if $(SKIPJACK_TEST_LONG),,$(filter-out $(effort_counts:%.c=$(BUILD)/%) $(valgrind_runs), \
	$(sanitized_tests:$(sanitized_build)/%=$(BUILD)/%)))

# ThreadSanitizer looks at what has threads: the agent's lanes, the monitor, the reader and the reference.
thread_build := build/threads
thread_tests := $(addprefix $(thread_build)/tests/,worker/agent/test_lane worker/verify/test_reference \
	schema/monitor/test_monitor schema/monitor/test_http_server export/sjdb/reader/test_reader_threads)
make_thread_tests = $(parallel) CC=clang SANITIZE=thread BUILD=$(thread_build) EXTRA_CFLAGS='$(EXTRA_CFLAGS) -O1 -g1'

export SKIPJACK := $(CURDIR)/$(BUILD)/skipjack
export SKIPJACK_YEARS := $(CURDIR)/$(BUILD)/skipjack-year
export SKIPJACK_FAULTS := $(CURDIR)/$(BUILD)/skipjack-faults
export SKIPJACK_GPU_DOUBLE := $(CURDIR)/$(gpu_double)
export SKIPJACK_MONITOR_DOUBLE := $(CURDIR)/$(monitor_double)
export SKIPJACK_FUZZERS := $(CURDIR)/$(sanitized_build)/tests/fuzz
export SKIPJACK_DATA

# The database that tests of the store begin with.
cluster := $(BUILD)/tests/cluster
export SKIPJACK_TEST_CLUSTER := $(CURDIR)/$(cluster)
$(cluster).made: tests/make-cluster $(BUILD)/gen/migrations.c $(BUILD)/gen/definitions.c | $(BUILD)/skipjack
	$(call run,CLUSTER) tests/make-cluster $(BUILD)/skipjack $(cluster) && touch $@

# Programs that run once for each name that they list, under that name: the family's for each solver of the
# table, and what compiles defaults for each kin of GPUs.
family := $(BUILD)/tests/kernels/family
kin := $(BUILD)/tests/kernels/kin
define by_name
$($(1))/.made: $(BUILD)/tests/kernels/$(2)
	$$(call run,NAMES) rm -rf $$(@D)/* && for name in $$$$($$< $(3)); do \
		ln -s ../$(2) $$(@D)/$$$$name; done && touch $$@
endef
$(eval $(call by_name,family,conv_family,--solvers))
$(eval $(call by_name,kin,gpu_compile,--kin))

# Random problems are drawn from the seed of the day. PoCL keeps the tests' kernels for two days.
ifeq ($(SKIPJACK_TEST_SEED),)
SKIPJACK_TEST_SEED := $(shell echo $$(($$(date +%s) / 86400)))
endif
export SKIPJACK_TEST_SEED
export SKIPJACK_TEST_CACHE := $(CURDIR)/$(BUILD)/tests/pocl

# One after the other, since some tests measure; only what does not (tests/rules.yml) runs side by side,
# and comes first: eight on two cores, since some wait. One that hangs is ended and counts as failed; a busy machine
# needs several times what a quiet one does. PoCL leaves the source of the tests' kernels as it is and
# optimizes what it makes of it alone, in half the time; the long suite, and tests that take the flags away,
# compile as users do. Called with files and, where that is wanted, how many at a time. TESTS names some alone:
# make test TESTS='tests/coordinator/tune/tune.t build/tests/chaos/*'.
TEST_SECONDS ?= 1800
PROVE_JOBS ?= 8
quick_pocl = $(if $(SKIPJACK_TEST_LONG),,POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable)
define prove
	$(check_machine)
	@echo "seed of the day: SKIPJACK_TEST_SEED=$(SKIPJACK_TEST_SEED) draws the same problems again"
	@find $(SKIPJACK_TEST_CACHE) -mindepth 2 -maxdepth 2 -mtime +1 -exec rm -rf {} + 2>/dev/null || true
	@HARNESS_RULESFILE=tests/rules.yml PERL5LIB=tests/support $(quick_pocl) prove --formatter SkipReport --timer -j$(or $(2),$(PROVE_JOBS)) -e 'tests/one $(TEST_SECONDS)' $(1) :: --tap
endef

# All that the tests run is built first, also by itself.
test-programs:
	$(DEPS) test
	$(parallel) $(BUILD)/skipjack $(BUILD)/skipjack-faults $(year_programs) \
		$(filter-out $(if $(TESTS),,$(sanitized_alone)),$(call programs_of,$(rooms) faults chaos)) \
		$(family)/.made $(kin)/.made $(cluster).made $(machine_test)
	$(if $(TESTS),,$(make_sanitized) sanitized-tests fuzzers)
	$(if $(TESTS)$(if $(SKIPJACK_TEST_LONG),,short),,$(make_thread_tests) thread-tests)

test: test-programs
	$(call prove,$(or $(TESTS),$(kin)/* $(family)/* $(sanitized_tests) \
		$(filter-out $(sanitized_alone),$(call tests_of,$(rooms) faults chaos fuzz deploy .)) $(if $(SKIPJACK_TEST_LONG),$(thread_tests))))

test-long: export SKIPJACK_TEST_LONG := 1
test-long: TEST_SECONDS := 3600
test-long: test

# They do without the program, and without what it makes.
test-schema test-faults: export SKIPJACK_TEST_CLUSTER :=

test-%: FORCE
	$(DEPS) test
	$(parallel) libraries $(filter %/lib$*.a,$(call archives,$(rooms) $(parts))) $(call programs_of,$*) $(machine_test) \
		$(if $(filter kernels,$*),$(family)/.made $(kin)/.made) \
		$(if $(filter worker coordinator deploy export,$*),$(BUILD)/skipjack $(cluster).made) $(if $(filter coordinator,$*),$(year_programs)) $(if $(filter faults,$*),$(BUILD)/skipjack-faults)
	$(call prove,$(if $(filter kernels,$*),$(kin)/* $(family)/*) $(call tests_of,$*))

# A farm in chaos for minutes: make test-chaos SEED=7 KEEP=folder. make test has the short form.
SEED ?= 1
test-chaos:
	$(DEPS) test
	$(parallel) $(BUILD)/skipjack $(call programs_of,chaos) $(machine_test)
	$(check_machine)
	$(BUILD)/tests/chaos/test_chaos --long --seed $(SEED) $(if $(KEEP),--keep $(KEEP))

# Programs of the tests against a GPU: with no GPU they are skipped, and say so. First the solvers' family, side
# by side; then kill -9 of everything while the GPU measures; then minutes of tuning (GPU_TEST_SECONDS=480)
# with the device's memory watched. A GPU host without a compiler gets what gpu_tests lists, made here, beside
# an unpacked bundle with PostgreSQL (make bundle), and runs each by itself: programs as PROGRAM --tap, the
# script by sh, with SKIPJACK=.../skipjack, SKIPJACK_PG_BIN=.../usr/lib/postgresql/15/bin, LD_LIBRARY_PATH=.../lib
# and SKIPJACK_TEST_DEVICE=gpu. They print TAP.
gpu_tests := $(BUILD)/tests/kernels/conv_family $(BUILD)/tests/kernels/device/winograd/test_conv_winograd \
	$(BUILD)/tests/kernels/device/few_channels/test_conv_few_channels $(addprefix $(BUILD)/tests/worker/verify/test_,judge judge_reference judge_compare) \
	$(BUILD)/tests/worker/eval/test_workbench $(BUILD)/tests/worker/eval/test_planted_faults \
	$(BUILD)/tests/faults/test_kills tests/worker/gpu.t
gpu-test: export SKIPJACK_TEST_DEVICE := gpu
gpu-test: PROVE_JOBS := $(shell nproc)
gpu-test:
	$(parallel) $(BUILD)/skipjack $(family)/.made $(filter $(BUILD)/%,$(gpu_tests))
	$(call prove,$(family)/*)
	$(call prove,$(filter-out %/conv_family,$(gpu_tests)),1)

test-fuzz:
	$(make_sanitized) fuzzers
	$(call prove,$(call tests_of,fuzz))

test-threads:
	$(DEPS) test
	$(make_thread_tests) thread-tests
	$(call prove,$(thread_tests))

# MUTATIONS names some of tests/mutations: make mutations MUTATIONS='four_strikes warm_caches'.
mutations:
	$(DEPS) test
	tests/mutate $(MUTATIONS)

sanitized-tests: $(sanitized_tests)
thread-tests: $(thread_tests)
fuzzers: $(call programs_of,fuzz)

# ---- Checks.

checked := $(shell find $(wildcard $(rooms) tests) -path kernels/device -prune -o -name '*.[ch]' -print)
# The analyzer takes most of the time: with ANALYZER_DAYS=5 it looks at a fifth of the rooms' files, others every day, and at
# what changed within a day.
ANALYZER_DAYS ?= 1
to_analyze = $(eval to_analyze := $(shell tests/analyzer-turns $(ANALYZER_DAYS)))$(to_analyze)
tidied := $(filter %.c,$(checked))

lint:
	$(DEPS) lint
	tests/lint-rooms
	tests/mutate --check
	@clang-format --dry-run -Werror $(checked)
	$(parallel) --output-sync $(patsubst %.c,$(BUILD)/tidy/%.analyzed,$(filter $(to_analyze),$(tidied))) \
		$(patsubst %.c,$(BUILD)/tidy/%.ok,$(filter-out $(to_analyze),$(tidied)))

# Looked at again when the file or a header of it has changed, as its object is. The analyzer follows so many
# states of one function; at its own limit, 225,000, the few longest take two thirds of the time of all.
analyzer_nodes := 25000
define tidy
	$(call run,TIDY) clang-tidy --quiet $(1) $< -- $(filter-out -Werror,$(CFLAGS)) \
		-Xclang -analyzer-config -Xclang max-nodes=$(analyzer_nodes) 2>$@.log || \
		{ cat $@.log; exit 1; }
	@touch $@
endef
$(tidied:%.c=$(BUILD)/tidy/%.ok): $(BUILD)/tidy/%.ok: %.c $(BUILD)/obj/%.o .clang-tidy tests/.clang-tidy
	$(call tidy,'--checks=-clang-analyzer-*')

$(tidied:%.c=$(BUILD)/tidy/%.analyzed): $(BUILD)/tidy/%.analyzed: %.c $(BUILD)/obj/%.o .clang-tidy tests/.clang-tidy
	$(call tidy)

# ---- Running it.

benches := $(patsubst tests/bench/bench_%,bench-%,$(basename $(wildcard tests/bench/bench_*.c tests/bench/bench_*.sh)))

# Named alone, a benchmark that needs more than the program installs it too.
$(BUILD)/tests/bench/bench_onednn $(BUILD)/tests/bench/bench_network: private LIBS += -ldnnl -lgomp
bench-onednn: export DEMO_ARGS := $(DEMO_ARGS)
bench-network: export BENCH_NETWORK ?= --budget 60 --configs 4
bench-onednn bench-network bench-build bench-serve: bench-deps
bench-deps:
	$(DEPS) bench

bench: bench-deps
	$(parallel) all $(call programs_of,bench)
	$(MAKE) --no-print-directory DEPS=true $(benches)

$(benches): bench-%: $(BUILD)/skipjack FORCE
	$(if $(wildcard tests/bench/bench_$*.c),$(parallel) $(BUILD)/tests/bench/bench_$*)
	$(if $(wildcard tests/bench/bench_$*.c),$(BUILD)/tests/bench/bench_$*,tests/bench/bench_$*.sh)

# The programs that make a release, compared with their peers; each part is a benchmark of its own.
release_parts := merge sjdb sjdb_kernels choose export
bench-release: bench-deps
	$(MAKE) --no-print-directory DEPS=true $(release_parts:%=bench-%)

# Needs a GPU and PyTorch; what was tuned before is not tuned again. On a host without compilers the script is run
# by itself, beside an unpacked bundle: it says how.
gpu-bench:
	$(parallel) all
	tests/bench/bench_gpu.py --skipjack $(BUILD)/skipjack --reader $(BUILD)/reader/$(reader_name) \
		--out $(BUILD)/gpu-bench $(GPU_BENCH)

# The part of solvers/README.md that says what each solver serves is asked of the solvers.
solvers-table: $(BUILD)/skipjack
	@$(BUILD)/skipjack solvers --table >$(BUILD)/solvers-table.md
	@sed -i -e '/^<!-- solvers-table:/,/^<!-- end of solvers-table/{//!d}' \
		-e '/^<!-- solvers-table:/r $(BUILD)/solvers-table.md' solvers/README.md

# The part of the page on layer tables that lists the columns is asked of their table.
nightly-schema: $(BUILD)/skipjack
	@$(BUILD)/skipjack run --schema >$(BUILD)/nightly.schema.json
	@mv $(BUILD)/nightly.schema.json coordinator/nights/nightly.schema.json

tuned-schema: $(BUILD)/skipjack
	@$(BUILD)/skipjack autotune --schema >$(BUILD)/tuned.schema.json
	@mv $(BUILD)/tuned.schema.json coordinator/network/autotune/tuned.schema.json

onnx-operators: $(BUILD)/skipjack
	@$(BUILD)/skipjack import --operators >$(BUILD)/onnx-operators.md
	@sed -i -e '/^<!-- onnx-operators:/,/^<!-- end of onnx-operators/{//!d}' \
		-e '/^<!-- onnx-operators:/r $(BUILD)/onnx-operators.md' coordinator/network/onnx/ONNX.md

layer-columns: $(BUILD)/skipjack
	@$(BUILD)/skipjack import --columns >$(BUILD)/layer-columns.md
	@sed -i -e '/^<!-- layer-columns:/,/^<!-- end of layer-columns/{//!d}' \
		-e '/^<!-- layer-columns:/r $(BUILD)/layer-columns.md' coordinator/import/LAYER_TABLES.md

# The program prints its commands as man pages and as a completion for bash.
pages: $(BUILD)/pages/.made
$(BUILD)/pages/.made: $(BUILD)/skipjack coordinator/pages/completion.bash
	$(call run,PAGES) rm -rf $(@D)/man && $(BUILD)/skipjack pages --man $(@D)/man && \
		{ cat coordinator/pages/completion.bash && $(BUILD)/skipjack pages; } >$(@D)/completion && touch $@

# The texts of the page on a job's forms, from a run on this machine.
life-of-a-job: $(BUILD)/skipjack $(BUILD)/tests/coordinator/life_of_a_job_forms
	tests/coordinator/life_of_a_job.t --write

tutorial: $(BUILD)/skipjack
	tests/coordinator/tutorial.t --write

# The images of the page on the dashboard, from the farm of its tests.
screenshots: $(BUILD)/skipjack $(BUILD)/tests/coordinator/serve/page_farm
	@mkdir -p coordinator/serve/screenshots
	SKIPJACK_SCREENSHOTS=coordinator/serve/screenshots prove tests/coordinator/serve/page.t

demo:
	$(DEPS) build
	$(parallel) all $(machine_test)
	$(check_machine)
	$(BUILD)/skipjack tune coordinator/networks/resnet50-v1.5.csv -o build/demo $(DEMO_ARGS)

# ---- Installing.

to := $(DESTDIR)$(PREFIX)
# Every page, and the sources that pages link to: their links work where they are installed, too. build/ may hold a copy
# of the tree (make mutations).
linked := $(shell grep -o '(\.\./[a-z_/]*\.h)' coordinator/LIFE_OF_A_JOB.md | tr -d '()' | cut -c4-)
pages := README.md LICENSE $(sort $(linked) $(filter-out build/%,$(wildcard */*.md */*/*.md */*/*/*.md)) $(wildcard export/sjdb/reader/*.h export/sjdb/reader/examples/*.[ch] \
	coordinator/serve/screenshots/*.png coordinator/nights/nightly*.json coordinator/serve/openapi.json \
	coordinator/network/autotune/tuned.schema.json coordinator/replay/recorded_space.schema.json))
scripts := slurm/submit slurm/nightly slurm/worker.sbatch systemd/publish
monitoring := prometheus/skipjack.rules.yml grafana/skipjack.json
units := $(notdir $(wildcard deploy/systemd/*.service deploy/systemd/*.timer))

reader_installed := lib/$(reader_name) lib/$(reader_soname) lib/libskipjackdb.so lib/libskipjackdb.a \
	include/skipjackdb.h lib/pkgconfig/skipjackdb.pc share/man/man3/skipjackdb.3
install-reader: reader
	install -D -m 755 $(BUILD)/reader/$(reader_name) $(to)/lib/$(reader_name)
	ln -sf $(reader_name) $(to)/lib/$(reader_soname)
	ln -sf $(reader_soname) $(to)/lib/libskipjackdb.so
	install -D -m 644 -t $(to)/lib $(BUILD)/reader/libskipjackdb.a
	install -D -m 644 -t $(to)/include export/sjdb/reader/skipjackdb.h
	install -D -m 644 -t $(to)/share/man/man3 export/sjdb/reader/skipjackdb.3
	install -d $(to)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(reader_version)|' export/sjdb/reader/skipjackdb.pc.in \
		>$(to)/lib/pkgconfig/skipjackdb.pc
	chmod 644 $(to)/lib/pkgconfig/skipjackdb.pc

uninstall-reader:
	rm -f $(addprefix $(to)/,$(reader_installed))

install: all pages install-reader
	install -D -m 755 $(BUILD)/skipjack $(to)/bin/skipjack
	install -D -m 644 -t $(to)/share/man/man1 $(BUILD)/pages/man/*.1
	install -D -m 644 $(BUILD)/pages/completion $(to)/share/bash-completion/completions/skipjack
	for page in $(pages); do install -D -m 644 $$page $(to)/share/doc/skipjack/$$page; done
	$(if $(networks),install -D -m 644 -t $(to)/share/skipjack/networks $(networks))
	for script in $(scripts); do install -D -m 755 deploy/$$script $(to)/share/skipjack/$$script; done
	for file in $(monitoring); do install -D -m 644 deploy/$$file $(to)/share/skipjack/$$file; done
	install -d $(to)/lib/systemd/system
	for unit in $(units); do \
		sed 's|/usr/local/|$(PREFIX)/|' deploy/systemd/$$unit >$(to)/lib/systemd/system/$$unit && \
		chmod 644 $(to)/lib/systemd/system/$$unit; done

uninstall: uninstall-reader
	rm -f $(to)/bin/skipjack $(to)/share/man/man1/skipjack.1 $(to)/share/man/man1/skipjack-*.1 \
		$(to)/share/bash-completion/completions/skipjack $(addprefix $(to)/share/doc/skipjack/,$(pages)) $(addprefix $(to)/share/,\
		$(networks:coordinator/%=skipjack/%) $(scripts:%=skipjack/%) $(monitoring:%=skipjack/%)) \
		$(units:%=$(to)/lib/systemd/system/%)
	-find $(wildcard $(addprefix $(to)/share/,doc/skipjack skipjack)) -depth -type d -empty -delete

# Its libraries lie beside it, and those that they need in turn.
$(BUILD)/bundle/skipjack: $(call objects,coordinator/main.c gen/commit.c) $(call archives,$(rooms) $(parts))
	$(link) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib'

BUNDLE ?= $(BUILD)/skipjack-$(shell uname -m).tar.gz
bundle: export BUNDLE_POSTGRESQL := $(BUNDLE_POSTGRESQL)
bundle:
	$(DEPS) $(if $(BUNDLE_POSTGRESQL),bundle,build)
	$(parallel) $(BUILD)/bundle/skipjack
	deploy/bundle $(BUILD)/bundle/skipjack $(BUNDLE)

clean:
	rm -rf build

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
