# SPDX-License-Identifier: GPL-2.0-only
#
# make deps            install the packages of Debian that are needed
# make kernels         fetch and build the guests' kernels, into a cache
# make quick           after an edit: build, and run a list of tests, or the
#                      tests named by T=list:test, in a User-Mode Linux guest;
#                      see selftests/vm/quick.sh
# make vm RUN='...'    run a command in a virtual machine with dd.ko loaded;
#                      its settings and exit statuses: selftests/vm/run.sh
# make test            the gate: everything, or the TIERS named

VM	:= selftests/vm
KERNEL	?= stock
MODULE	?= yes

.PHONY: deps kernels test quick vm vm-kernel vm-module vm-ready

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

# Standard output belongs to the command. Several may want this at once.
vm-ready: $(BUILD)/tsc-khz
	@mkdir -p $(BUILD)
	@flock -w 900 $(BUILD)/.lock $(MAKE) -s --no-print-directory user vm-module \
		$(if $(wildcard $(KSELFTEST)/kselftest_harness.h),selftests) >&2

# A make whose recipe fails exits with 2, whatever the recipe's status was, and
# has the last word. To exit with a command's status make becomes the command:
# exec.c adds that function.
ifneq ($(filter quick vm test,$(MAKECMDGOALS)),)
-load $(BUILD)/exec.so
$(BUILD)/exec.so: $(VM)/exec.c
	@mkdir -p $(@D)
	@$(CC) -shared -fPIC -o $@ $< 2>/dev/null || true
endif

vm-become = $(if $(filter $(BUILD)/exec.so,$(.LOADED)),$(exec $(1)))$(1)
vm-quote = '$(subst ','\'',$(1))'
vm-command = $(foreach v,KERNEL SMP MEM MODULE TIMEOUT ICOUNT LEAKS FAULT \
		START_TIME APPEND CHAOS,$\
	$(v)=$(call vm-quote,$($(v)))) $(VM)/run.sh $(call vm-quote,$(value RUN))

vm: vm-ready
	@$(call vm-become,$(vm-command))

quick: export KERNEL = $(if $(K),$(K),um)
quick: vm-ready
	@$(call vm-become,KERNEL=$(KERNEL) $(VM)/quick.sh $(call vm-quote,$(T)) $(N))

# TIERS='10-vm ...' runs only those.
test: deps
	@$(call vm-become,$(VM)/run-tiers.sh $(TIERS))
