# SPDX-License-Identifier: GPL-2.0-only
#
# make bench		direct deposit beside its peers, in a virtual machine:
#			report, tables and charts into bench/. HOST=1 measures on
#			this machine, as root, with dd.ko loaded; QUICK=1 a little
#			of everything, into build/bench; MTU=9000 for that of the
#			link between nodes. ROUNDS, SIZES, CONNS, COUNT:
#			bench/guest.sh
# make cost		guest instructions by operation, into bench/instructions.json
# make check-cost	counts them again: none of ours may have risen by more
#			than 5 %, unless that file says so in the same commit
# make check-bench	what makes figures, tables and charts of reports

COST	:= bench/instructions.json

.PHONY: bench bench-ready cost check-cost check-bench
bench: bench-ready
	@bench/run.sh $(if $(QUICK),$(BUILD)/bench,bench)

bench-ready: $(if $(HOST),user,vm-ready)
	@$(VM)/deps.sh bench

cost: vm-ready
	@bench/cost.sh $(COST)

check-cost: vm-ready
	@bench/cost.sh $(BUILD)/bench/instructions.json $(COST)

CHECKS += check-bench
check-bench:
	@bench/selftest.py
