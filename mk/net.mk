# SPDX-License-Identifier: GPL-2.0-only
#
# The transport between nodes, in user space.
#
#   make check-transport	simulator, planted faults, a little fuzzing, the
#				dissector; build/selftests/sim --help for more
#   make mutants		how many of MUTANTS (60) random changes of the
#				transport the simulator finds; SEED chooses them
#   make fuzz			fuzzing for FUZZ_SECONDS (600)

NET_OBJ		:= $(BUILD)/obj/selftests/net
NET_TP		:= $(sort $(wildcard kernel/transport/*.c))
NET_KERNEL	:= $(NET_TP) $(addprefix kernel/cluster/,answer.c ctl.c lookup.c remote.c \
			remote_import.c remote_msg.c remote_op.c) \
		   $(addprefix kernel/core/,access.c channel.c charge.c deposit.c export.c exported.c import.c \
			names.c)
NET_SIM		:= $(sort $(wildcard selftests/transport/sim/*.c))
# Headers that kernel_user.h replaces: those of the kernel, and some of the module. What the
# files above begin to use of the kernel goes there, or to kernel.c in the same place.
NET_INC		:= $(NET_OBJ)/include
NET_CPPFLAGS	:= -I$(NET_INC) -Iselftests/transport/sim/include -Ikernel \
		   -idirafter include -idirafter include/uapi
# Functions of the kernel that no scenario calls are missing; a call of one crashes.
NET_LDLIBS	:= -no-pie -Wl,--unresolved-symbols=ignore-all
NET_CFLAGS	= $(filter-out -Iinclude%,$(CFLAGS)) $(NET_CPPFLAGS) \
		  -Wno-sign-compare -Wno-maybe-uninitialized
NET_OBJS	:= $(patsubst kernel/%.c,$(NET_OBJ)/kernel/%.o,$(NET_KERNEL)) \
		   $(patsubst selftests/transport/sim/%.c,$(NET_OBJ)/sim/%.o,$(NET_SIM))
SIM		:= $(BUILD)/selftests/sim

$(NET_INC)/.made: $(wildcard $(addprefix kernel/,*/*.h core/*.c cluster/*.c transport/*.c))
	@for h in compat/compat.h core/ids.h core/page.h core/trace.h linux/types.h \
		$$(sed -n 's/^#include <\(\(linux\|asm\|net\)\/[^>]*\)>.*/\1/p' $^ | \
		grep -vE 'linux/(dd.*|errno|limits|types|stddef)\.h'); do \
		mkdir -p $(@D)/$$(dirname $$h); \
		echo '#include "kernel_user.h"' >$(@D)/$$h; \
	done
	@sed -i '1i #include_next <linux/types.h>' $(@D)/linux/types.h
	@touch $@

$(NET_OBJ)/kernel/%.o: kernel/%.c | $(NET_INC)/.made
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) -c -o $@ $<

$(NET_OBJ)/sim/%.o: selftests/transport/sim/%.c | $(NET_INC)/.made
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) -c -o $@ $<

$(SIM): $(NET_OBJS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(NET_LDLIBS)

-include $(NET_OBJS:.o=.d)

# The same with AddressSanitizer and UndefinedBehaviorSanitizer. ccache needs a command for each
# file.
NET_ASAN	:= -O1 -fsanitize=address,undefined -fno-sanitize-recover
NET_ASAN_OBJS	:= $(NET_OBJS:$(NET_OBJ)/%=$(NET_OBJ)/asan/%)

$(NET_OBJ)/asan/kernel/%.o: kernel/%.c | $(NET_INC)/.made
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) $(NET_ASAN) -c -o $@ $<

$(NET_OBJ)/asan/sim/%.o: selftests/transport/sim/%.c | $(NET_INC)/.made
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) $(NET_ASAN) -c -o $@ $<

$(SIM)-asan: $(NET_ASAN_OBJS)
	@mkdir -p $(@D)
	$(CC) $(NET_ASAN) -o $@ $^ $(NET_LDLIBS)

-include $(NET_ASAN_OBJS:.o=.d)

# Seeds that are the same each time, and three that follow from the commit.
SEED ?= 1
COMMIT_SEED ?= 0x$(or $(shell git rev-parse --short=8 HEAD 2>/dev/null),4)

.PHONY: check-transport check-transport-sim check-transport-mutations
CHECKS += check-transport
check-transport: check-transport-sim check-transport-mutations

check-transport-sim: $(SIM) $(SIM)-asan
	@$(SIM) --seed $(SEED) --runs 3
	@ASAN_OPTIONS=detect_leaks=0 $(SIM)-asan --seed $(COMMIT_SEED) --runs 3

check-transport-mutations: $(SIM)
	@CC='$(CC)' CPPFLAGS='$(NET_CPPFLAGS)' LDLIBS='$(NET_LDLIBS)' \
		selftests/transport/sim/mutants.py $(NET_OBJ)

.PHONY: mutants
MUTANTS ?= 60
mutants: $(SIM)
	@CC='$(CC)' CPPFLAGS='$(NET_CPPFLAGS)' LDLIBS='$(NET_LDLIBS)' \
		selftests/transport/sim/mutants.py $(NET_OBJ) $(MUTANTS) $(SEED)

# --- fuzzing -----------------------------------------------------------------

# Debian's clang with its runtime: make deps.
FUZZ_CC		?= clang
FUZZ_SECONDS	?= 600
FUZZ_DIR	:= $(BUILD)/fuzz
FUZZ_CFLAGS	:= -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
		   -fno-sanitize-recover=undefined -Wall -Wno-sign-compare \
		   -Wno-c2x-extensions $(NET_CPPFLAGS)
FUZZ_SRCS	:= $(addprefix selftests/transport/sim/,packet.c user.c victim.c) $(NET_TP)

$(FUZZ_DIR)/fuzz_%: selftests/transport/fuzz/fuzz_%.c $(FUZZ_SRCS) $(wildcard kernel/transport/*.h) \
		| $(NET_INC)/.made
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -o $@ $< $(FUZZ_SRCS)

.PHONY: check-transport-fuzz fuzz
check-transport: check-transport-fuzz
check-transport-fuzz:
	@FUZZ_CC='$(FUZZ_CC)' MAKE='$(MAKE)' selftests/transport/fuzz/run.sh 3

fuzz:
	@FUZZ_CC='$(FUZZ_CC)' MAKE='$(MAKE)' selftests/transport/fuzz/run.sh $(FUZZ_SECONDS)

# --- Wireshark ---------------------------------------------------------------

.PHONY: check-transport-dissector
check-transport: check-transport-dissector
check-transport-dissector: $(SIM)
	@if command -v tshark >/dev/null; then \
		selftests/transport/sim/dissector.py $(SIM); \
	else \
		echo "ok 1 - dissector # SKIP no tshark; run: make deps"; \
		echo "1..1"; \
	fi
