# SPDX-License-Identifier: GPL-2.0-only
#
# make deps            install the packages of Debian that building and testing need
# make kernels         fetch and build the guests' kernels, into a cache
# make quick           after an edit: build, and run a list of tests, or the
#                      tests named by T=list:test, in a User-Mode Linux guest;
#                      see selftests/vm/quick.sh
# make vm RUN='...'    run a command in a virtual machine with dd.ko loaded; fails
#                      when the command fails or the kernel complains. Settings:
#                      selftests/vm/run.sh, which exits with the exact status
# make test            the gate: all tests that a change has to pass, half an hour;
#                      TIERS='10-vm ...' runs only these
# make coverage        which lines and branches of dd.ko the tests on User-Mode Linux
#                      run (gcov), into build/coverage.txt; fails below 95 % of all
#                      lines, or 90 % of a file's. LISTS: selftests/vm/coverage.sh
# make nightly         the gate and the full matrix of lists and kernels, data
#                      races, long runs, coverage, simulator and fuzzing; hours

VM	:= selftests/vm
KERNEL	?= stock
MODULE	?= yes

.PHONY: deps kernels test coverage nightly quick vm vm-kernel vm-module vm-ready

deps:
	@$(VM)/deps.sh

kernels: deps
	@$(VM)/kernels.sh fetch

vm-kernel: deps
	@$(VM)/kernels.sh fetch $(KERNEL)

vm-module: vm-kernel
	@$(if $(filter-out no,$(MODULE)),$(VM)/module.sh $(KERNEL) $(FAULT))

$(BUILD)/tsc-khz: $(VM)/tsc-khz.c | deps
	@mkdir -p $(@D)
	@$(CC) -O2 -Wall -o $@ $<

# Standard output belongs to the command. The lock is for several runs at once.
vm-ready: $(BUILD)/tsc-khz
	@mkdir -p $(BUILD)
	@flock -w 900 $(BUILD)/.lock $(MAKE) -s --no-print-directory user vm-module \
		$(if $(wildcard $(KSELFTEST)/kselftest_harness.h),selftests) >&2

vm-quote = '$(subst ','\'',$(1))'
vm-settings = $(foreach v,KERNEL SMP MEM MODULE TIMEOUT ICOUNT LEAKS FAULT \
		START_TIME APPEND CHAOS,$(v)=$(call vm-quote,$($(v))))

vm: vm-ready
	@$(vm-settings) $(VM)/run.sh $(call vm-quote,$(value RUN))

quick: export KERNEL = $(if $(K),$(K),um)
quick: vm-ready
	@KERNEL=$(KERNEL) $(VM)/quick.sh $(call vm-quote,$(T)) $(N)

test: deps
	@$(VM)/run-tiers.sh $(TIERS)

coverage: deps
	@$(VM)/coverage.sh

nightly: deps
	@$(VM)/run-tiers.sh all
