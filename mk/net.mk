# SPDX-License-Identifier: GPL-2.0-only
#
# The transport between nodes, in user space.
#
#   make check-transport	simulator, planted faults, a little fuzzing, the
#				dissector; build/selftests/sim --help for more
#   make fuzz			fuzzing for FUZZ_SECONDS (600)

NET_OBJ		:= $(BUILD)/obj/selftests/net
NET_KERNEL	:= $(sort $(wildcard kernel/transport*.c) kernel/wire.c)
NET_SIM		:= $(sort $(wildcard selftests/transport/sim/*.c))
NET_CPPFLAGS	:= -Iselftests/transport/sim/include -Ikernel
NET_CFLAGS	= $(filter-out -Iinclude%,$(CFLAGS)) $(NET_CPPFLAGS) \
		  -Wno-sign-compare
NET_OBJS	:= $(patsubst kernel/%.c,$(NET_OBJ)/kernel/%.o,$(NET_KERNEL)) \
		   $(patsubst selftests/transport/sim/%.c,$(NET_OBJ)/sim/%.o,$(NET_SIM))
SIM		:= $(BUILD)/selftests/sim

$(NET_OBJ)/kernel/%.o: kernel/%.c
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) -c -o $@ $<

$(NET_OBJ)/sim/%.o: selftests/transport/sim/%.c
	@mkdir -p $(@D)
	$(CC) $(NET_CFLAGS) -c -o $@ $<

$(SIM): $(NET_OBJS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ -lm

-include $(NET_OBJS:.o=.d)

# The same seeds each time, or SEED=$$(date +%s).
SEED ?= 1

.PHONY: check-transport check-transport-sim check-transport-mutations
CHECKS += check-transport
check-transport: check-transport-sim check-transport-mutations

check-transport-sim: $(SIM)
	@$(SIM) --seed $(SEED) --runs 6

check-transport-mutations: $(SIM)
	@CC='$(CC)' selftests/transport/sim/mutations.sh $(NET_OBJ)

# --- fuzzing -----------------------------------------------------------------

# Debian's clang with its runtime: make deps.
FUZZ_CC		?= clang
FUZZ_SECONDS	?= 600
FUZZ_DIR	:= $(BUILD)/fuzz
FUZZ_CFLAGS	:= -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
		   -fno-sanitize-recover=undefined -Wall -Wno-sign-compare \
		   -Wno-c2x-extensions $(NET_CPPFLAGS)
FUZZ_SRCS	:= selftests/transport/sim/user.c $(NET_KERNEL)

$(FUZZ_DIR)/fuzz_%: selftests/transport/fuzz/fuzz_%.c $(FUZZ_SRCS) $(wildcard kernel/*.h)
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
