# SPDX-License-Identifier: GPL-2.0-only
#
# Test programs for guests.
#
#   make selftests		build/selftests/*; needs the debug kernel's source
#   make check-selftests	each requirement is named by a test
#   make soak			tests between nodes, for hours; KERNELS=stock

KSELFTEST ?= $(shell selftests/vm/kernels.sh path source source 2>/dev/null)/tools/testing/selftests

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

# kselftest's harness compares its arguments with int. Each guest gets all tests, and debug
# information would be three quarters of that.
SELFTEST_CFLAGS	= $(CFLAGS) -g0 -isystem $(KSELFTEST) -Iselftests/ddp \
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

# What test programs share. Of an archive the linker takes what a program uses: main() of
# tap.c if it has none.
HARNESS		:= $(SELFTEST_DIR)/harness.a
$(HARNESS): $(patsubst %,$(BUILD)/obj/selftests/%.o,harness/common harness/tap harness/worker ddp/peer)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

# $(call programs,FOLDER,NAMES,OBJECTS AND LIBRARIES): each of a file of its own, and what all
# of the folder use. The library is the static one, so an installed one is not used. The
# samples test the shared one.
LINK		= $(CC) -pthread $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)
define programs
$(addprefix $(SELFTEST_DIR)/,$(2)): $(SELFTEST_DIR)/%: $(BUILD)/obj/selftests/$(1)/%.o \
		$(patsubst %.o,$(BUILD)/obj/selftests/%.o,$(filter %.o,$(3))) \
		$(HARNESS) $(patsubst %,$(BUILD)/lib/%,$(filter %.a,$(3)))
	@mkdir -p $$(@D)
	$$(LINK)
endef

$(eval $(call programs,ddp,$(SELFTEST_DDP),libdd.a))
$(eval $(call programs,lib,$(SELFTEST_LIB),lib/echo.o lib/segment.o libdd.a))
$(eval $(call programs,core,$(SELFTEST_ABI),core/calls.o core/raw.o))
$(eval $(call programs,core,$(SELFTEST_STRESS),$(addprefix core/,calls.o inject.o raw.o) libdd.a))
$(eval $(call programs,net,$(SELFTEST_NET),core/inject.o core/raw.o libdd.a))
$(eval $(call programs,rmem,$(SELFTEST_RMEM),rmem/owner.o librmem.a libdd.a))
$(eval $(call programs,vmmc,$(SELFTEST_VMMC),harness/buffers.o libvmmc.a libdd.a))
$(eval $(call programs,sbl,$(SELFTEST_SBL),harness/buffers.sbl.o libsbl.a libvmmc.a libdd.a))
$(eval $(call programs,vm,stale,))
$(eval $(call programs,st,$(SELFTEST_ST),st/pair.o st/negative.o dd/libst.a libdd.a))
$(addprefix $(SELFTEST_DIR)/,$(SELFTEST_RMEM)): LDLIBS += -lxxhash

# The library's system calls fail at will.
$(addprefix $(SELFTEST_DIR)/lib_,direct errors track upcall): $(BUILD)/obj/selftests/lib/faulty.o
$(BUILD)/obj/selftests/lib/lib_direct.o: SELFTEST_CFLAGS += -Ilib/core
$(addprefix $(SELFTEST_DIR)/lib_,direct errors track upcall): LDFLAGS += \
	-Wl,--wrap=open,--wrap=ioctl,--wrap=mmap

$(SELFTEST_DIR)/rm_segment: $(addprefix $(BUILD)/obj/selftests/rmem/segment_,notes.o failures.o)
$(addprefix $(SELFTEST_DIR)/rm_,figures names registry): $(BUILD)/obj/tools/rmclerk/registry.o

$(SELFTEST_DIR)/intruder: $(BUILD)/obj/selftests/rmem/intruder.o \
		$(addprefix $(BUILD)/obj/tools/,rmfs/common.o rmfs/remote.o rmfs/table.o \
		common/tool.o) \
		$(BUILD)/lib/librmem.a $(BUILD)/lib/libdd.a
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^ -lxxhash

$(SELFTEST_DIR)/vm_data: $(BUILD)/obj/selftests/promises/buffer_data.o
$(SELFTEST_DIR)/vm_kill: $(BUILD)/obj/selftests/promises/buffer_kill.o
$(SELFTEST_DIR)/vm_notify: $(BUILD)/obj/selftests/promises/buffer_notify.o
$(addprefix $(SELFTEST_DIR)/vm_,notify redir): $(BUILD)/obj/selftests/promises/sender.o

# What both interfaces promise is compiled for each. One program uses both libraries.
$(BUILD)/obj/selftests/%.sbl.o $(BUILD)/obj/selftests/sbl/%.o: SELFTEST_CFLAGS += -DOF_SBL
$(SELFTEST_DIR)/sb_data: $(BUILD)/obj/selftests/promises/buffer_data.sbl.o
$(SELFTEST_DIR)/sb_kill: $(BUILD)/obj/selftests/promises/buffer_kill.sbl.o
$(SELFTEST_DIR)/sb_notify: $(addprefix $(BUILD)/obj/selftests/promises/,buffer_notify.sbl.o sender.sbl.o)

# A process of a session, which uses the shared libraries as programs do.
$(SELFTEST_DIR)/member: selftests/sessions/member.c $(LIBDD_DIR)/libvmmc.so $(LIBDD_DIR)/libsbl.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< -L$(LIBDD_DIR) -lvmmc -lsbl -ldd

$(SELFTEST_DIR)/rogue: selftests/sessions/rogue.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $<

-include $(SELFTEST_DIR)/member.d $(SELFTEST_DIR)/rogue.d

# The threads of libsbl, libst and libdd under ThreadSanitizer. ccache needs a command for each
# file.
TSAN		:= clang -fsanitize=thread -pthread
TSAN_CFLAGS	:= -O1 -g -w -D_GNU_SOURCE -DOF_SBL -DDD_VERSION='"$(VERSION)"' \
		   $(addprefix -I,selftests/ddp selftests/lib selftests/harness include \
		   include/uapi lib/core lib/conn lib/mem)
TSAN_OBJ	:= $(BUILD)/obj/tsan
tsan_objects	= $(patsubst %.c,$(TSAN_OBJ)/%.o,$(LIBDD_SRCS) $(wildcard $(1)))

$(TSAN_OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(TSAN) $(TSAN_CFLAGS) -MMD -MP -c -o $@ $<

$(SELFTEST_DIR)/sb_tsan: $(call tsan_objects,lib/sbl/*.c selftests/sbl/sb_stress.c \
		$(addprefix selftests/harness/,buffers.c common.c tap.c worker.c))
$(SELFTEST_DIR)/st_tsan: $(call tsan_objects,lib/st/*.c selftests/st/st_flow.c \
		$(addprefix selftests/,st/pair.c ddp/peer.c harness/tap.c harness/worker.c))
$(addprefix $(SELFTEST_DIR)/,sb_tsan st_tsan):
	@mkdir -p $(@D)
	$(TSAN) -o $@ $^

-include $(wildcard $(TSAN_OBJ)/*/*/*.d)

$(BUILD)/obj/selftests/st/st_hostile.o: SELFTEST_CFLAGS += -Ilib/st
$(SELFTEST_DIR)/net_traffic: $(addprefix $(BUILD)/obj/selftests/net/traffic_,load.o serve.o)

CHECKS += check-selftests
check-selftests:
	@echo 1..5; n=0 bad=0; for of in ddp rmem vmmc sbl st; do n=$$((n + 1)); \
	selftests/coverage.sh selftests/$$of/coverage && verdict=ok || verdict="not ok"; \
	echo "$$verdict $$n each requirement is named by a test ($$of)"; \
	[ "$$verdict" = ok ] || bad=1; done; [ $$bad = 0 ]

soak: selftests
	@selftests/net/soak.sh
