# SPDX-License-Identifier: GPL-2.0-only
#
# The sample programs, ddcp and ddperf.
#
#   make check-tools	their command lines, without the module

SAMPLES	:= dd-echo-server dd-two-services dd-rpc-client dd-split-client
TOOLS	:= $(SAMPLES) ddcp ddperf
TOOL_PROGS := $(addprefix $(BUILD)/bin/,$(TOOLS))
TOOL_INSTALLED := $(addprefix $(BUILD)/installed/,$(TOOLS))
TOOL_OBJ := $(BUILD)/obj/tools

ALL_PROGS += $(TOOL_PROGS)

tool-objects = $(patsubst tools/%.c,$(TOOL_OBJ)/%.o,$(sort $(wildcard $(1))))
COMMON_OBJS := $(call tool-objects,tools/common/*.c)
SAMPLE_OBJS := $(TOOL_OBJ)/samples/sample.o $(TOOL_OBJ)/samples/serve.o
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
$(foreach s,$(SAMPLES),$(call both,$(s))): $(SAMPLE_OBJS)
$(call both,ddcp): $(DDCP_OBJS)
$(call both,ddperf): $(DDPERF_OBJS)
$(call both,ddcp) $(call both,ddperf): TOOL_LIBS = -ljson-c -lm

# Programs in the build directory find the library beside them. Installed ones
# have no RUNPATH: the dynamic linker finds the library in its directories. With a
# LIBDIR that is none of them: make install LDFLAGS=-Wl,-rpath,LIBDIR
$(TOOL_PROGS): TOOL_RPATH = -Wl,-rpath,'$$ORIGIN/../lib'
$(TOOL_PROGS) $(TOOL_INSTALLED): $(COMMON_OBJS) $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd \
		$(TOOL_RPATH) $(TOOL_LIBS)

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
