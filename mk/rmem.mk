# SPDX-License-Identifier: GPL-2.0-only
#
# librmem, the name clerk rmclerk, and the file service rmfs.

RMEM_SONAME	:= librmem.so.0
RMEM_SRCS	:= $(wildcard lib/rmem/*.c)
RMEM_OBJS	:= $(RMEM_SRCS:lib/%.c=$(LIBDD_OBJ)/%.o)
RMEM_SHARED	:= $(LIBDD_DIR)/$(RMEM_SONAME)
RMEM_STATIC	:= $(LIBDD_DIR)/librmem.a
RMEM_LINK	:= $(LIBDD_DIR)/librmem.so
RMEM_PC		:= $(LIBDD_DIR)/librmem.pc

ALL_LIBS += $(RMEM_LINK) $(RMEM_STATIC) $(RMEM_PC)

$(LIBDD_OBJ)/rmem/%.o: lib/rmem/%.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) -c -o $@ $<

$(RMEM_SHARED): $(RMEM_OBJS) lib/rmem/librmem.map $(LIBDD_LINK)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(RMEM_SONAME) \
		-Wl,--version-script,lib/rmem/librmem.map -Wl,-z,defs \
		-o $@ $(RMEM_OBJS) -L$(LIBDD_DIR) -ldd

$(RMEM_LINK): $(RMEM_SHARED)
	ln -sf $(RMEM_SONAME) $@

$(RMEM_STATIC): $(RMEM_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(RMEM_OBJS)

$(RMEM_PC): lib/rmem/librmem.pc.in FORCE
	@mkdir -p $(@D)
	$(PC_FILL) $< > $@

-include $(RMEM_OBJS:.o=.d)

# --- the clerk ---------------------------------------------------------------

RMCLERK_OBJS	:= $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tools/rmclerk/*.c tools/common/*.c))
RMCLERK		:= $(BUILD)/bin/rmclerk $(BUILD)/installed/rmclerk

ALL_PROGS += $(BUILD)/bin/rmclerk

$(BUILD)/obj/tools/rmclerk/%.o: tools/rmclerk/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -pthread -c -o $@ $<

$(RMCLERK): $(RMCLERK_OBJS) $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd -lxxhash \
		$(PROG_RPATH)

-include $(RMCLERK_OBJS:.o=.d)

# --- the file service ----------------------------------------------------------

RMFS_OBJS	:= $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tools/rmfs/*.c tools/common/*.c))
RMFS		:= $(BUILD)/bin/rmfs $(BUILD)/installed/rmfs

ALL_PROGS += $(BUILD)/bin/rmfs

$(BUILD)/obj/tools/rmfs/%.o: tools/rmfs/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -c -o $@ $<

$(RMFS): $(RMFS_OBJS) $(RMEM_LINK) $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -lrmem -ldd -lxxhash \
		$(PROG_RPATH)

-include $(RMFS_OBJS:.o=.d)

# --- installation ------------------------------------------------------------

.PHONY: install-rmem uninstall-rmem
INSTALLS += install-rmem
UNINSTALLS += uninstall-rmem
install-rmem: $(RMEM_SHARED) $(RMEM_STATIC) $(RMEM_PC) $(BUILD)/installed/rmclerk \
		$(BUILD)/installed/rmfs
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) \
		$(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)/etc/default
	install -m 755 $(RMEM_SHARED) $(DESTDIR)$(LIBDIR)/$(RMEM_SONAME)
	ln -sf $(RMEM_SONAME) $(DESTDIR)$(LIBDIR)/librmem.so
	install -m 644 $(RMEM_STATIC) $(DESTDIR)$(LIBDIR)
	install -m 644 $(RMEM_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/rmem.h $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(BUILD)/installed/rmclerk $(DESTDIR)$(SBINDIR)
	install -m 755 $(BUILD)/installed/rmfs $(DESTDIR)$(BINDIR)
	install -D -m 644 Documentation/man/rmclerk.8 $(DESTDIR)$(MANDIR)/man8/rmclerk.8
	sed 's,@SBINDIR@,$(SBINDIR),' packaging/rmclerk.service.in | \
		install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rmclerk.service
	[ -e $(DESTDIR)/etc/default/rmclerk ] || \
		install -m 644 packaging/rmclerk.default $(DESTDIR)/etc/default/rmclerk
	$(if $(DESTDIR),,-ldconfig)

uninstall-rmem:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(RMEM_SONAME) librmem.so librmem.a \
		pkgconfig/librmem.pc) $(DESTDIR)$(INCLUDEDIR)/rmem.h \
		$(DESTDIR)$(BINDIR)/rmfs $(DESTDIR)$(SBINDIR)/rmclerk \
		$(DESTDIR)$(MANDIR)/man8/rmclerk.8 \
		$(DESTDIR)$(UNITDIR)/rmclerk.service $(DESTDIR)/etc/default/rmclerk
