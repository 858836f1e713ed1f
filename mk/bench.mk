# SPDX-License-Identifier: GPL-2.0-only
#
# make cost		guest instructions by operation, into bench/instructions.json
# make check-cost	counts them again: none of ours may have risen by more
#			than 5 %, unless that file says so in the same commit
# make check-bench	what makes figures, tables and charts of reports

COST	:= bench/instructions.json

.PHONY: cost check-cost check-bench
cost: vm-ready
	@bench/cost.sh $(COST)

check-cost: vm-ready
	@bench/cost.sh $(BUILD)/bench/instructions.json $(COST)

CHECKS += check-bench
check-bench:
	@bench/selftest.py
