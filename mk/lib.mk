# SPDX-License-Identifier: GPL-2.0-only
#
# libdd, its manual pages, and the figures of the protocol's description.
#
#   make check-lib	exported symbols, headers, figures, manual pages; needs no
#			root. selftests/lib/guest.list tests the library.

LIBDD_SONAME	:= libdd.so.0
LIBDD_DIR	:= $(BUILD)/lib
LIBDD_OBJ	:= $(BUILD)/obj/lib
LIBDD_SRCS	:= $(wildcard $(addsuffix /*.c,$(addprefix lib/,core conn mem ddp)))
LIBDD_OBJS	:= $(LIBDD_SRCS:lib/%.c=$(LIBDD_OBJ)/%.o)
LIBDD_SHARED	:= $(LIBDD_DIR)/$(LIBDD_SONAME)
LIBDD_STATIC	:= $(LIBDD_DIR)/libdd.a
LIBDD_LINK	:= $(LIBDD_DIR)/libdd.so
LIBDD_PC	:= $(LIBDD_DIR)/libdd.pc
LIBDD_HEADERS	:= include/dd.h include/dd_mem.h include/fedex.h \
		   include/dd_errno.h

# Programs in the build directory find the libraries beside them. It is an RPATH: a
# RUNPATH would not serve for libdd where only librmem refers to it. Installed ones have
# none: the dynamic linker finds the libraries in its directories. With a LIBDIR that is
# none of them: make install LDFLAGS=-Wl,-rpath,LIBDIR
$(BUILD)/bin/%: PROG_RPATH = -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib'

LIBDIR		?= $(PREFIX)/lib
INCLUDEDIR	?= $(PREFIX)/include
MANDIR		?= $(PREFIX)/share/man

# One object serves both libraries: no interposition within the shared one.
LIBDD_CFLAGS	= $(CFLAGS) -D_GNU_SOURCE -pthread -fPIC \
		  -fvisibility=hidden -fno-plt -fno-tree-slp-vectorize \
		  -Wshadow -Wvla

ALL_LIBS += $(LIBDD_LINK) $(LIBDD_STATIC) $(LIBDD_PC)

# A folder includes the headers of those below it.
$(LIBDD_OBJ)/core/%.o $(LIBDD_OBJ)/mem/%.o: LIBDD_BELOW = -Ilib/core
$(LIBDD_OBJ)/conn/%.o $(LIBDD_OBJ)/ddp/%.o: LIBDD_BELOW = -Ilib/core -Ilib/conn

$(LIBDD_OBJS): $(LIBDD_OBJ)/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) $(LIBDD_BELOW) -c -o $@ $<

# dd_version()
$(LIBDD_OBJ)/core/open.o: Makefile

$(LIBDD_SHARED): $(LIBDD_OBJS) lib/libdd.map
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(LIBDD_SONAME) \
		-Wl,--version-script,lib/libdd.map -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -Wl,-z,nodelete \
		-o $@ $(LIBDD_OBJS)

$(LIBDD_LINK): $(LIBDD_SHARED)
	ln -sf $(LIBDD_SONAME) $@

$(LIBDD_STATIC): $(LIBDD_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(LIBDD_OBJS)

# Directories may differ between "make" and "make install". Those below the prefix
# move with it, for pkg-config --define-prefix.
PC_FILL = sed -e 's|@PREFIX@|$(PREFIX)|' \
	    -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))|' \
	    -e 's|@VERSION@|$(VERSION)|'

$(LIBDD_PC): lib/libdd.pc.in FORCE
	@mkdir -p $(@D)
	$(PC_FILL) $< > $@

.PHONY: FORCE

-include $(LIBDD_OBJS:.o=.d)

# The programs of the description, as printed, in the C of their time; figures
# 4 and 5 are printed without their include.
FIGURES		:= $(addprefix $(BUILD)/bin/,fig2 fig3 fig4 fig5)
FIGURE_OBJ	:= $(BUILD)/obj/selftests/ddp/figures
FIGURE_CFLAGS	= -g -std=gnu89 -Wall -Wno-implicit -Wno-return-type \
		  -Werror=int-conversion -Werror=incompatible-pointer-types \
		  -Iinclude -MMD -MP

ALL_PROGS += $(FIGURES)

$(FIGURE_OBJ)/fig%.o: selftests/ddp/figures/fig%.c include/fedex.h
	@mkdir -p $(@D)
	$(CC) $(FIGURE_CFLAGS) $(if $(filter 4 5,$*),-include fedex.h) \
		-c -o $@ $<

$(FIGURE_OBJ)/support.o: selftests/ddp/figures/support.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(FIGURES): $(BUILD)/bin/%: $(FIGURE_OBJ)/%.o $(FIGURE_OBJ)/support.o \
		$(LIBDD_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd \
		$(PROG_RPATH)

# The other end of a figure, which compares the bytes.
FIGURE_CHECK	:= $(BUILD)/selftests/figcheck
ALL_PROGS += $(FIGURE_CHECK)

$(FIGURE_OBJ)/check.o: selftests/ddp/figures/check.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(FIGURE_CHECK): $(FIGURE_OBJ)/check.o $(FIGURE_OBJ)/support.o $(LIBDD_STATIC)
	@mkdir -p $(@D)
	$(CC) -pthread -o $@ $^

-include $(wildcard $(FIGURE_OBJ)/*.d)

LIBDD_MAN3 := $(wildcard Documentation/man/*.3)
LIBDD_MAN4 := $(wildcard Documentation/man/*.4)
LIBDD_MAN7 := $(wildcard Documentation/man/*.7)

# The calls that the NAME section of $$page names; each is found as a page, too.
MAN_NAMES = sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([A-Za-z_]*\).*/\1/p' $$page

.PHONY: install-lib uninstall-lib
INSTALLS += install-lib
UNINSTALLS += uninstall-lib
install-lib: $(LIBDD_SHARED) $(LIBDD_STATIC) $(LIBDD_PC)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) \
		$(addprefix $(DESTDIR)$(MANDIR)/man,3 4 7)
	install -m 755 $(LIBDD_SHARED) $(DESTDIR)$(LIBDIR)/$(LIBDD_SONAME)
	ln -sf $(LIBDD_SONAME) $(DESTDIR)$(LIBDIR)/libdd.so
	install -m 644 $(LIBDD_STATIC) $(DESTDIR)$(LIBDIR)
	install -m 644 $(LIBDD_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(LIBDD_HEADERS) $(DESTDIR)$(INCLUDEDIR)
	for page in $(LIBDD_MAN3); do for name in $$($(MAN_NAMES)); do \
		echo ".so man3/$${page##*/}" >$(DESTDIR)$(MANDIR)/man3/$$name.3; \
		chmod 644 $(DESTDIR)$(MANDIR)/man3/$$name.3; \
	done; done
	install -m 644 $(LIBDD_MAN3) $(DESTDIR)$(MANDIR)/man3
	install -m 644 $(LIBDD_MAN4) $(DESTDIR)$(MANDIR)/man4
	install -m 644 $(LIBDD_MAN7) $(DESTDIR)$(MANDIR)/man7
	$(if $(DESTDIR),,-ldconfig)

uninstall-lib:
	for page in $(LIBDD_MAN3); do for name in $$($(MAN_NAMES)); do \
		rm -f $(DESTDIR)$(MANDIR)/man3/$$name.3; \
	done; done
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(LIBDD_SONAME) libdd.so \
		libdd.a pkgconfig/libdd.pc) \
		$(addprefix $(DESTDIR)$(INCLUDEDIR)/,$(notdir $(LIBDD_HEADERS))) \
		$(addprefix $(DESTDIR)$(MANDIR)/man3/,$(notdir $(LIBDD_MAN3))) \
		$(addprefix $(DESTDIR)$(MANDIR)/man4/,$(notdir $(LIBDD_MAN4))) \
		$(addprefix $(DESTDIR)$(MANDIR)/man7/,$(notdir $(LIBDD_MAN7)))

.PHONY: check-lib check-lib-headers check-lib-exports check-lib-man
CHECKS += check-lib
check-lib: check-lib-headers check-lib-exports check-lib-man

check-lib-headers:
	@selftests/lib/headers.sh include selftests/ddp/figures lib

check-lib-exports: $(LIBDD_SHARED) \
		$(addprefix $(LIBDD_DIR)/,librmem.so libvmmc.so libsbl.so dd/libst.so)
	@selftests/lib/exports.sh $(LIBDD_SHARED) include dd "dd_mem.h fedex.h" libc.so.6
	@selftests/lib/exports.sh $(LIBDD_DIR)/librmem.so.0 include rm rmem.h \
		"$$(printf 'libdd.so.0\nlibc.so.6')"
	@selftests/lib/exports.sh $(LIBDD_DIR)/libvmmc.so.2 include vmmc vmmc.h \
		"$$(printf 'libdd.so.0\nlibc.so.6')"
	@selftests/lib/exports.sh $(LIBDD_DIR)/libsbl.so.1 include SBL sbl.h \
		"$$(printf 'libdd.so.0\nlibc.so.6')"
	@selftests/lib/exports.sh $(LIBDD_DIR)/dd/libst.so.0 include st_ st.h \
		"$$(printf 'libdd.so.0\nlibc.so.6')"

check-lib-man: $(LIBDD_LINK) \
		$(addprefix $(LIBDD_DIR)/,librmem.so libvmmc.so libsbl.so dd/libst.so)
	@selftests/lib/man.sh Documentation/man $(LIBDD_DIR)

# The examples of manual pages as programs; selftests/lib/examples.sh runs them.
selftests: $(BUILD)/selftests/man/built
$(BUILD)/selftests/man/built: selftests/lib/man.sh README.md \
		$(wildcard Documentation/man/*.3) | $(LIBDD_LINK) \
		$(addprefix $(LIBDD_DIR)/,librmem.so libvmmc.so libsbl.so dd/libst.so)
	@rm -rf $(@D) && mkdir -p $(@D)
	@selftests/lib/man.sh Documentation/man $(LIBDD_DIR) $(@D) >$(@D)/log || \
		{ grep -A5 '^not ok' $(@D)/log >&2; exit 1; }
	@touch $@
