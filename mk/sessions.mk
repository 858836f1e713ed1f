# SPDX-License-Identifier: GPL-2.0-only
#
# Sessions of VMMC: the server vmmcsvr, and cfgvmmc.

VMMCSVR_OBJS	:= $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tools/vmmcsvr/*.c) tools/common/tool.c)
VMMCSVR		:= $(BUILD)/bin/vmmcsvr $(BUILD)/installed/vmmcsvr
CFGVMMC_OBJS	:= $(addprefix $(BUILD)/obj/tools/,cfgvmmc/cfgvmmc.o vmmcsvr/wire.o \
		   vmmcsvr/fields.o common/tool.o)
CFGVMMC		:= $(BUILD)/bin/cfgvmmc $(BUILD)/installed/cfgvmmc

ALL_PROGS += $(BUILD)/bin/vmmcsvr $(BUILD)/bin/cfgvmmc

$(BUILD)/obj/tools/vmmcsvr/%.o: tools/vmmcsvr/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -Ilib/mem -c -o $@ $<

$(BUILD)/obj/tools/cfgvmmc/%.o: tools/cfgvmmc/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -Ilib/mem -c -o $@ $<

$(VMMCSVR): $(VMMCSVR_OBJS)
$(CFGVMMC): $(CFGVMMC_OBJS)
$(VMMCSVR): SESSIONS_LIBS := -lmunge -lpam
$(CFGVMMC): SESSIONS_LIBS := -lmunge
$(VMMCSVR) $(CFGVMMC): $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd $(SESSIONS_LIBS) $(PROG_RPATH)

-include $(VMMCSVR_OBJS:.o=.d) $(CFGVMMC_OBJS:.o=.d)

# --- installation ------------------------------------------------------------

.PHONY: install-sessions uninstall-sessions
INSTALLS += install-sessions
UNINSTALLS += uninstall-sessions
install-sessions: $(BUILD)/installed/vmmcsvr $(BUILD)/installed/cfgvmmc
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(SBINDIR) $(UNITDIR) /etc/dd)
	install -m 755 $(BUILD)/installed/vmmcsvr $(DESTDIR)$(SBINDIR)
	install -m 755 $(BUILD)/installed/cfgvmmc $(DESTDIR)$(BINDIR)
	install -D -m 644 Documentation/man/vmmcsvr.8 $(DESTDIR)$(MANDIR)/man8/vmmcsvr.8
	sed 's,@SBINDIR@,$(SBINDIR),' packaging/vmmcsvr.service.in | \
		install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/vmmcsvr.service
	[ -e $(DESTDIR)/etc/dd/vmmcsvr.conf ] || \
		install -m 644 packaging/vmmcsvr.conf $(DESTDIR)/etc/dd/vmmcsvr.conf
	[ -e $(DESTDIR)/etc/pam.d/vmmcsvr ] || \
		install -D -m 644 packaging/vmmcsvr.pam $(DESTDIR)/etc/pam.d/vmmcsvr

uninstall-sessions:
	rm -f $(DESTDIR)$(SBINDIR)/vmmcsvr $(DESTDIR)$(BINDIR)/cfgvmmc \
		$(DESTDIR)$(MANDIR)/man8/vmmcsvr.8 $(DESTDIR)$(UNITDIR)/vmmcsvr.service \
		$(DESTDIR)/etc/dd/vmmcsvr.conf $(DESTDIR)/etc/pam.d/vmmcsvr
	[ ! -d $(DESTDIR)/etc/dd ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)/etc/dd
