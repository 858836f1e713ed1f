# SPDX-License-Identifier: GPL-2.0-only
#
# Test programs for guests.
#
#   make selftests		build/selftests/*; needs the debug kernel's source
#   make check-selftests	each requirement is named by a test
#   make soak			tests between nodes, for hours; KERNELS=stock

KSELFTEST ?= $(shell selftests/vm/kernels.sh path debug source 2>/dev/null)/tools/testing/selftests

selftest_names	= $(basename $(notdir $(wildcard selftests/$(1)/$(2)_*.c)))
SELFTEST_DDP	:= $(call selftest_names,ddp,ddp)
SELFTEST_ABI	:= $(call selftest_names,core,abi)
SELFTEST_STRESS	:= $(call selftest_names,core,stress)
SELFTEST_NET	:= $(call selftest_names,net,net)
SELFTEST_LIB	:= $(call selftest_names,lib,lib)
SELFTEST_RMEM	:= $(call selftest_names,rmem,rm)
SELFTEST_VMMC	:= $(call selftest_names,vmmc,vm)
SELFTEST_SBL	:= $(call selftest_names,sbl,sb)
SELFTEST_ST	:= $(call selftest_names,st,st)

SELFTEST_DIR	:= $(BUILD)/selftests
SELFTEST_PROGS	:= $(addprefix $(SELFTEST_DIR)/,$(SELFTEST_DDP) \
		   $(SELFTEST_ABI) $(SELFTEST_STRESS) $(SELFTEST_NET) \
		   $(SELFTEST_LIB) $(SELFTEST_RMEM) $(SELFTEST_VMMC) \
		   $(SELFTEST_SBL) $(SELFTEST_ST) sb_tsan st_tsan intruder stale member \
		   rogue)

# kselftest's harness compares its arguments with int.
SELFTEST_CFLAGS	= $(CFLAGS) -isystem $(KSELFTEST) -Iselftests/ddp \
		  -Iselftests/core -Iselftests/lib -Iselftests/harness -Iselftests/promises \
		  -Itools/rmclerk -Wno-sign-compare -Wno-missing-prototypes \
		  -Wno-stringop-truncation \
		  -Wno-missing-field-initializers -pthread

.PHONY: selftests check-selftests soak
selftests: $(SELFTEST_PROGS)

$(BUILD)/obj/selftests/%.o: selftests/%.c
	@mkdir -p $(@D)
	@[ -e $(KSELFTEST)/kselftest_harness.h ] || { \
		echo "kselftest_harness.h is missing; run: make kernels, or say KSELFTEST=..." >&2; \
		exit 1; }
	$(CC) $(SELFTEST_CFLAGS) -c -o $@ $<

$(BUILD)/obj/selftests/%.sbl.o: selftests/%.c
	@mkdir -p $(@D)
	$(CC) $(SELFTEST_CFLAGS) -c -o $@ $<

-include $(wildcard $(BUILD)/obj/selftests/*/*.d)

# Tests are linked with the static library, so an installed one is not used. The
# samples test the shared one.
$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_DDP)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/ddp/%.o \
		$(BUILD)/obj/selftests/ddp/peer.o $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_LIB)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/lib/%.o \
		$(addprefix $(BUILD)/obj/selftests/,lib/echo.o lib/segment.o harness/tap.o) \
		$(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread $(LDFLAGS) -o $@ $^

# The library's system calls fail at will.
$(addprefix $(SELFTEST_DIR)/lib_,direct errors notes track upcall): $(BUILD)/obj/selftests/lib/faulty.o
$(BUILD)/obj/selftests/lib/lib_direct.o: SELFTEST_CFLAGS += -Ilib/core
$(addprefix $(SELFTEST_DIR)/lib_,direct errors notes track upcall): LDFLAGS += \
	-Wl,--wrap=open,--wrap=ioctl,--wrap=mmap

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_RMEM)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/rmem/%.o \
		$(addprefix $(BUILD)/obj/selftests/,rmem/owner.o harness/worker.o harness/tap.o) \
		$(BUILD)/lib/librmem.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^ -lxxhash

$(SELFTEST_DIR)/rm_segment: $(addprefix $(BUILD)/obj/selftests/rmem/segment_,notes.o failures.o)
$(addprefix $(SELFTEST_DIR)/rm_,figures names registry): $(BUILD)/obj/tools/rmclerk/registry.o

$(SELFTEST_DIR)/intruder: $(BUILD)/obj/selftests/rmem/intruder.o \
		$(addprefix $(BUILD)/obj/tools/,rmfs/common.o rmfs/remote.o rmfs/table.o \
		common/tool.o) \
		$(BUILD)/lib/librmem.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^ -lxxhash

# Of the guest's kernel, without dd.
$(SELFTEST_DIR)/stale: selftests/vm/stale.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -D_GNU_SOURCE -pthread -o $@ $<

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_VMMC)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/vmmc/%.o \
		$(addprefix $(BUILD)/obj/selftests/harness/,buffers.o worker.o tap.o) \
		$(BUILD)/lib/libvmmc.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(SELFTEST_DIR)/vm_data: $(BUILD)/obj/selftests/promises/buffer_data.o
$(SELFTEST_DIR)/vm_kill: $(BUILD)/obj/selftests/promises/buffer_kill.o
$(SELFTEST_DIR)/vm_notify: $(BUILD)/obj/selftests/promises/buffer_notify.o

# What both interfaces promise is compiled for each. One program uses both libraries.
$(BUILD)/obj/selftests/%.sbl.o $(BUILD)/obj/selftests/sbl/%.o: SELFTEST_CFLAGS += -DOF_SBL
$(SELFTEST_DIR)/sb_data: $(BUILD)/obj/selftests/promises/buffer_data.sbl.o
$(SELFTEST_DIR)/sb_kill: $(BUILD)/obj/selftests/promises/buffer_kill.sbl.o
$(SELFTEST_DIR)/sb_notify: $(BUILD)/obj/selftests/promises/buffer_notify.sbl.o
$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_SBL)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/sbl/%.o \
		$(addprefix $(BUILD)/obj/selftests/harness/,buffers.sbl.o worker.o tap.o) \
		$(BUILD)/lib/libsbl.a $(BUILD)/lib/libvmmc.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

# A process of a session, which uses the shared libraries as programs do.
$(SELFTEST_DIR)/member: selftests/sessions/member.c $(LIBDD_DIR)/libvmmc.so $(LIBDD_DIR)/libsbl.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< -L$(LIBDD_DIR) -lvmmc -lsbl -ldd

$(SELFTEST_DIR)/rogue: selftests/sessions/rogue.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $<

-include $(SELFTEST_DIR)/member.d $(SELFTEST_DIR)/rogue.d

# The threads of libsbl, libst and libdd under ThreadSanitizer.
TSAN		= clang -fsanitize=thread -O1 -g -w -D_GNU_SOURCE -DOF_SBL -DDD_VERSION='"$(VERSION)"' -pthread \
		  $(addprefix -I,selftests/ddp selftests/lib selftests/harness include include/uapi lib/core lib/conn \
		  lib/mem) -o $@ $(filter %.c,$^)

$(SELFTEST_DIR)/sb_tsan: $(LIBDD_SRCS) $(wildcard lib/sbl/*.c lib/*/*.h include/*.h) \
		selftests/sbl/sb_stress.c selftests/harness/buffers.c selftests/harness/worker.c \
		selftests/harness/tap.c
	@mkdir -p $(@D)
	$(TSAN)

$(SELFTEST_DIR)/st_tsan: $(LIBDD_SRCS) $(wildcard lib/st/*.c lib/*/*.h include/*.h) \
		selftests/st/st_flow.c selftests/st/pair.c selftests/ddp/peer.c selftests/harness/tap.c
	@mkdir -p $(@D)
	$(TSAN)

$(BUILD)/obj/selftests/st/st_hostile.o: SELFTEST_CFLAGS += -Ilib/st
$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_ST)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/st/%.o \
		$(addprefix $(BUILD)/obj/selftests/,st/pair.o st/negative.o ddp/peer.o harness/tap.o) \
		$(BUILD)/lib/dd/libst.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_ABI)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/core/%.o \
		$(addprefix $(BUILD)/obj/selftests/core/,calls.o raw.o)
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_STRESS)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/core/%.o \
		$(addprefix $(BUILD)/obj/selftests/core/,audit.o calls.o inject.o raw.o) \
		$(BUILD)/obj/selftests/ddp/peer.o $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_NET)): $(SELFTEST_DIR)/%: \
		$(BUILD)/obj/selftests/net/%.o \
		$(BUILD)/obj/selftests/net/traffic.o \
		$(addprefix $(BUILD)/obj/selftests/core/,inject.o raw.o) \
		$(BUILD)/obj/selftests/ddp/peer.o $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

$(SELFTEST_DIR)/net_traffic: $(addprefix $(BUILD)/obj/selftests/net/traffic_,\
		end.o serve.o load.o)

CHECKS += check-selftests
check-selftests:
	@echo 1..5; n=0 bad=0; for of in ddp rmem vmmc sbl st; do n=$$((n + 1)); \
	selftests/coverage.sh selftests/$$of/coverage && verdict=ok || verdict="not ok"; \
	echo "$$verdict $$n each requirement is named by a test ($$of)"; \
	[ "$$verdict" = ok ] || bad=1; done; [ $$bad = 0 ]

soak: selftests
	@selftests/net/soak.sh
