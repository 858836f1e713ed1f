# SPDX-License-Identifier: GPL-2.0-only
#
# make bench		direct deposit beside its peers, in a virtual machine:
#			report, tables and charts into bench/. HOST=1 measures on
#			this machine, as root, with dd.ko loaded; QUICK=1 a little
#			of everything, into build/bench; ONLY='here lat|ucx' some
#			jobs, into build/bench too; MTU=9000 for that of the link between
#			nodes. ROUNDS, SIZES, CONNS, COUNT: bench/guest.sh
# make cost		guest instructions by operation, into bench/instructions.json
# make check-cost	counts them again: none of ours may have risen by more
#			than 5 %, unless that file says so in the same commit
# make layout		where members of the hot structures lie, into bench/layout.txt
# make check-layout	looks again: not otherwise than that file says
# make check-bench	what makes figures, tables and charts of reports

COST	:= bench/instructions.json
LAYOUT	:= bench/layout.txt

.PHONY: bench bench-ready cost check-cost layout check-layout check-bench
bench: bench-ready
	@bench/run.sh $(if $(QUICK)$(ONLY),$(BUILD)/bench,bench)

bench-ready: $(if $(HOST),user,vm-ready)
	@$(VM)/deps.sh bench
	@$(MAKE) -s --no-print-directory $(BENCH_PROGS)

# With what deps.sh has installed: not part of "make".
BENCH_PROGS := $(addprefix $(BUILD)/bench/dd-,mpi fabric ucx)
BENCH_FLAGS := $(filter-out -MMD -MP,$(CFLAGS)) -D_GNU_SOURCE

$(BUILD)/bench/dd-mpi: CC = mpicc
$(BUILD)/bench/dd-fabric: LDLIBS = -lfabric
$(BUILD)/bench/dd-ucx: LDLIBS = -lucp -lucs
$(BENCH_PROGS): $(BUILD)/bench/dd-%: bench/%.c bench/loop.c bench/loop.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) -o $@ $(filter %.c,$^) $(LDLIBS)

cost: vm-ready
	@bench/cost.sh $(COST)

check-cost: vm-ready
	@bench/cost.sh $(BUILD)/bench/instructions.json $(COST)

layout: vm-ready
	@bench/layout.sh $(LAYOUT)

check-layout: vm-ready
	@mkdir -p $(BUILD)/bench
	@bench/layout.sh $(BUILD)/bench/layout.txt $(LAYOUT)

CHECKS += check-bench
check-bench:
	@bench/selftest.py
