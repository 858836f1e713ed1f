# SPDX-License-Identifier: GPL-2.0-only
#
# The examples (tools/samples), ddcp and ddperf.
#
#   make check-tools	their command lines, without the module

# All examples are built and installed as sources, two as programs, too.
SAMPLES	:= $(patsubst tools/samples/%.c,%,$(wildcard tools/samples/*.c))
TOOLS	:= dd-echo-server dd-rpc-client ddcp ddperf
TOOL_PROGS := $(addprefix $(BUILD)/bin/,$(sort $(SAMPLES) $(TOOLS)))
TOOL_INSTALLED := $(addprefix $(BUILD)/installed/,$(TOOLS))
TOOL_OBJ := $(BUILD)/obj/tools

ALL_PROGS += $(TOOL_PROGS)

tool-objects = $(patsubst tools/%.c,$(TOOL_OBJ)/%.o,$(sort $(wildcard $(1))))
COMMON_OBJS := $(call tool-objects,tools/common/*.c)
DDCP_OBJS   := $(call tool-objects,tools/ddcp/*.c)
DDPERF_OBJS := $(call tool-objects,tools/ddperf/*.c)
TOOL_OBJS   := $(COMMON_OBJS) $(call tool-objects,tools/samples/*.c) \
	$(DDCP_OBJS) $(DDPERF_OBJS)

$(TOOL_OBJS): $(TOOL_OBJ)/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -pthread -c -o $@ $<

# both PROGRAM: as it runs in the build directory, and as it is installed
both = $(BUILD)/bin/$(1) $(BUILD)/installed/$(1)

$(foreach s,$(SAMPLES),$(eval $(call both,$(s)): $(TOOL_OBJ)/samples/$(s).o))
RMEM_SAMPLES := $(foreach s,$(filter rm-%,$(SAMPLES)),$(call both,$(s)))
$(RMEM_SAMPLES): $(LIBDD_DIR)/librmem.so
$(RMEM_SAMPLES): TOOL_LIBS = -lrmem
ST_SAMPLES := $(foreach s,$(filter st-%,$(SAMPLES)),$(call both,$(s)))
$(ST_SAMPLES): $(LIBDD_DIR)/dd/libst.so
$(ST_SAMPLES): TOOL_LIBS = -L$(LIBDD_DIR)/dd -lst -Wl,-rpath,'$$ORIGIN/../lib/dd'
$(call both,ddcp): $(DDCP_OBJS) $(COMMON_OBJS)
$(call both,ddperf): $(DDPERF_OBJS) $(COMMON_OBJS)
$(call both,ddperf): $(LIBDD_DIR)/libvmmc.so $(LIBDD_DIR)/dd/libst.a
$(call both,ddperf): TOOL_LIBS = $(LIBDD_DIR)/dd/libst.a -lvmmc -ljson-c -lm

$(TOOL_PROGS) $(TOOL_INSTALLED): $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd \
		$(PROG_RPATH) $(TOOL_LIBS)

-include $(TOOL_OBJS:.o=.d)

# A program for the scripts of selftests/tools.
TOOL_PTY := $(BUILD)/selftests/dd_pty
ALL_PROGS += $(TOOL_PTY)

$(TOOL_PTY): selftests/tools/pty.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -lutil

-include $(TOOL_PTY).d

.PHONY: check-tools install-tools uninstall-tools
CHECKS += check-tools
check-tools: $(TOOL_PROGS)
	PATH="$(abspath $(BUILD)/bin):$$PATH" selftests/tools/usage.sh

BINDIR	?= $(PREFIX)/bin
TOOL_MAN := $(wildcard Documentation/man/*.1)

INSTALLS += install-tools
UNINSTALLS += uninstall-tools
install-tools: $(TOOL_INSTALLED)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(TOOL_INSTALLED) $(DESTDIR)$(BINDIR)
	install -m 644 $(TOOL_MAN) $(DESTDIR)$(MANDIR)/man1

uninstall-tools:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,$(TOOLS)) \
		$(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(TOOL_MAN)))
