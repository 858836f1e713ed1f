# SPDX-License-Identifier: GPL-2.0-only
#
# libst. It is installed in directories of its own: another libst has the same names.

ST_SONAME	:= libst.so.0
ST_SRCS		:= $(wildcard lib/st/*.c)
ST_OBJS		:= $(ST_SRCS:lib/%.c=$(LIBDD_OBJ)/%.o)
ST_SHARED	:= $(LIBDD_DIR)/dd/$(ST_SONAME)
ST_STATIC	:= $(LIBDD_DIR)/dd/libst.a
ST_LINK		:= $(LIBDD_DIR)/dd/libst.so
ST_PC		:= $(LIBDD_DIR)/dd-st.pc

ALL_LIBS += $(ST_LINK) $(ST_STATIC) $(ST_PC)

$(LIBDD_OBJ)/st/%.o: lib/st/%.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) -Ilib/core -Ilib/conn -c -o $@ $<

$(ST_SHARED): $(ST_OBJS) lib/st/libst.map $(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(ST_SONAME) \
		-Wl,--version-script,lib/st/libst.map -Wl,-z,defs \
		-o $@ $(ST_OBJS) -L$(LIBDD_DIR) -ldd

$(ST_LINK): $(ST_SHARED)
	ln -sf $(ST_SONAME) $@

$(ST_STATIC): $(ST_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(ST_OBJS)

$(ST_PC): lib/st/dd-st.pc.in FORCE
	@mkdir -p $(@D)
	$(PC_FILL) $< > $@

-include $(ST_OBJS:.o=.d)

# --- installation ------------------------------------------------------------

ST_LIBDIR	= $(DESTDIR)$(LIBDIR)/dd
ST_INCLUDEDIR	= $(DESTDIR)$(INCLUDEDIR)/dd

.PHONY: install-st uninstall-st
INSTALLS += install-st
UNINSTALLS += uninstall-st
install-st: $(ST_SHARED) $(ST_STATIC) $(ST_PC)
	install -d $(ST_LIBDIR) $(ST_INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(ST_SHARED) $(ST_LIBDIR)
	ln -sf $(ST_SONAME) $(ST_LIBDIR)/libst.so
	install -m 644 $(ST_STATIC) $(ST_LIBDIR)
	install -m 644 $(ST_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/st.h $(ST_INCLUDEDIR)

uninstall-st:
	rm -f $(addprefix $(ST_LIBDIR)/,$(ST_SONAME) libst.so libst.a) \
		$(ST_INCLUDEDIR)/st.h $(DESTDIR)$(LIBDIR)/pkgconfig/dd-st.pc
	-rmdir --ignore-fail-on-non-empty $(ST_LIBDIR) $(ST_INCLUDEDIR)
