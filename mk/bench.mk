# SPDX-License-Identifier: GPL-2.0-only
#
# make bench		direct deposit beside its peers, in a virtual machine: report,
#			tables and charts in build/bench. HOST=1 measures on this
#			machine, as root, with dd.ko loaded; QUICK=1 measures a
#			little of everything; ONLY='here lat|ucx' selects jobs; MTU=9000
#			sets the MTU between nodes. More settings: bench/guest.sh.
#			NATIVE=1 measures what uses no kernel, on the two processors
#			of this machine (User-Mode Linux), into build/bench/native
# make cost		guest instructions by operation, into bench/instructions.json
# make check-cost	counts them again: no figure of dd may exceed a fixed limit, or
#			rise by more than 5 % unless the same commit changes that file
# make check-bench	test of the scripts that make figures, tables and charts

COST	:= bench/instructions.json

.PHONY: bench bench-ready cost check-cost check-bench
bench: export KERNEL = $(if $(NATIVE),um-smp,stock)
bench: bench-ready
	@bench/run.sh $(BUILD)/bench$(if $(NATIVE),/native)

bench-ready: $(if $(HOST),user,vm-ready)
	@$(VM)/deps.sh bench
	@$(MAKE) -s --no-print-directory $(BENCH_PROGS)

# It needs packages of "deps.sh bench", so it is not part of "make".
BENCH_PROGS := $(BUILD)/bench/dd-mpi $(BUILD)/bench/native.so
BENCH_FLAGS := $(filter-out -MMD -MP,$(CFLAGS)) -D_GNU_SOURCE

$(BUILD)/bench/dd-mpi: bench/mpi.c
	@mkdir -p $(@D)
	mpicc $(BENCH_FLAGS) -o $@ $<

$(BUILD)/bench/native.so: bench/native.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) -shared -fPIC -o $@ $<

cost: vm-ready
	@bench/cost.sh $(COST)

check-cost: vm-ready
	@bench/cost.sh $(BUILD)/bench/instructions.json $(COST)

CHECKS += check-bench
check-bench:
	@bench/selftest.py
