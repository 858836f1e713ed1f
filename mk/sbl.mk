# SPDX-License-Identifier: GPL-2.0-only
#
# libsbl

SBL_SONAME	:= libsbl.so.1
SBL_SRCS	:= $(wildcard lib/sbl/*.c)
SBL_OBJS	:= $(SBL_SRCS:lib/%.c=$(LIBDD_OBJ)/%.o)
SBL_SHARED	:= $(LIBDD_DIR)/$(SBL_SONAME)
SBL_STATIC	:= $(LIBDD_DIR)/libsbl.a
SBL_LINK	:= $(LIBDD_DIR)/libsbl.so
SBL_PC		:= $(LIBDD_DIR)/libsbl.pc

ALL_LIBS += $(SBL_LINK) $(SBL_STATIC) $(SBL_PC)

$(LIBDD_OBJ)/sbl/%.o: lib/sbl/%.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) -Ilib/core -Ilib/mem -c -o $@ $<

# -z nodelete: pthread_atfork() and the thread refer to functions of the library.
$(SBL_SHARED): $(SBL_OBJS) lib/sbl/libsbl.map $(LIBDD_LINK)
	$(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(SBL_SONAME) \
		-Wl,--version-script,lib/sbl/libsbl.map -Wl,-z,defs -Wl,-z,nodelete \
		-o $@ $(SBL_OBJS) -L$(LIBDD_DIR) -ldd

$(SBL_LINK): $(SBL_SHARED)
	ln -sf $(SBL_SONAME) $@

$(SBL_STATIC): $(SBL_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(SBL_OBJS)

$(SBL_PC): lib/sbl/libsbl.pc.in FORCE
	@mkdir -p $(@D)
	$(PC_FILL) $< > $@

-include $(SBL_OBJS:.o=.d)

# --- installation ------------------------------------------------------------

.PHONY: install-sbl uninstall-sbl
INSTALLS += install-sbl
UNINSTALLS += uninstall-sbl
install-sbl: $(SBL_SHARED) $(SBL_STATIC) $(SBL_PC)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(SBL_SHARED) $(DESTDIR)$(LIBDIR)
	ln -sf $(SBL_SONAME) $(DESTDIR)$(LIBDIR)/libsbl.so
	install -m 644 $(SBL_STATIC) $(DESTDIR)$(LIBDIR)
	install -m 644 $(SBL_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/sbl.h $(DESTDIR)$(INCLUDEDIR)
	$(if $(DESTDIR),,-ldconfig)

uninstall-sbl:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(SBL_SONAME) libsbl.so libsbl.a \
		pkgconfig/libsbl.pc) $(DESTDIR)$(INCLUDEDIR)/sbl.h

# --- samples -------------------------------------------------------------------

SBL_SAMPLE_DIR	:= $(BUILD)/samples/sbl
SBL_SAMPLES	:= $(addprefix $(SBL_SAMPLE_DIR)/,pingpong blackboard)
SBL_SAMPLE_OBJ	:= $(BUILD)/obj/tools/samples/sbl

ALL_PROGS += $(SBL_SAMPLES)

$(SBL_SAMPLE_OBJ)/%.o: tools/samples/sbl/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -c -o $@ $<

$(SBL_SAMPLES): $(SBL_SAMPLE_DIR)/%: $(SBL_SAMPLE_OBJ)/%.o $(SBL_SAMPLE_OBJ)/member.o $(SBL_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -lsbl -ldd \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib'

-include $(wildcard $(SBL_SAMPLE_OBJ)/*.d)
