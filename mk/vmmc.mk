# SPDX-License-Identifier: GPL-2.0-only
#
# libvmmc. libvmmc_debug is the same library with debug level 1 from the beginning.

VMMC_SONAME	:= libvmmc.so.2
VMMC_SRCS	:= $(wildcard lib/vmmc/*.c)
VMMC_OBJS	:= $(VMMC_SRCS:lib/%.c=$(LIBDD_OBJ)/%.o)
VMMC_DEBUG_OBJS	:= $(filter-out %/error.o,$(VMMC_OBJS)) $(LIBDD_OBJ)/vmmc/debug/error.o
VMMC_SHARED	:= $(LIBDD_DIR)/$(VMMC_SONAME)
VMMC_STATIC	:= $(LIBDD_DIR)/libvmmc.a
VMMC_LINK	:= $(LIBDD_DIR)/libvmmc.so
VMMC_DEBUG	:= $(LIBDD_DIR)/libvmmc_debug.so.2
VMMC_PC		:= $(LIBDD_DIR)/libvmmc.pc

VMMC_BELOW	:= -Ilib/core -Ilib/mem

ALL_LIBS += $(VMMC_LINK) $(VMMC_STATIC) $(VMMC_DEBUG) $(VMMC_PC)

$(LIBDD_OBJ)/vmmc/%.o: lib/vmmc/%.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) $(VMMC_BELOW) -c -o $@ $<

$(LIBDD_OBJ)/vmmc/debug/error.o: lib/vmmc/error.c
	@mkdir -p $(@D)
	$(CC) $(LIBDD_CFLAGS) $(VMMC_BELOW) -DVMMC_DEBUG_LEVEL=1 -c -o $@ $<

vmmc-shared = $(CC) -shared -pthread $(LDFLAGS) -Wl,-soname,$(@F) \
	-Wl,--version-script,lib/vmmc/libvmmc.map -Wl,-z,defs \
	-o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -ldd

$(VMMC_SHARED): $(VMMC_OBJS) lib/vmmc/libvmmc.map $(LIBDD_LINK)
	$(vmmc-shared)

$(VMMC_DEBUG): $(VMMC_DEBUG_OBJS) lib/vmmc/libvmmc.map $(LIBDD_LINK)
	$(vmmc-shared)
	ln -sf $(@F) $(LIBDD_DIR)/libvmmc_debug.so

$(VMMC_LINK): $(VMMC_SHARED)
	ln -sf $(VMMC_SONAME) $@

$(VMMC_STATIC): $(VMMC_OBJS)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(VMMC_OBJS)

$(VMMC_PC): lib/vmmc/libvmmc.pc.in FORCE
	@mkdir -p $(@D)
	$(PC_FILL) $< > $@

-include $(VMMC_OBJS:.o=.d)

# --- installation ------------------------------------------------------------

.PHONY: install-vmmc uninstall-vmmc
INSTALLS += install-vmmc
UNINSTALLS += uninstall-vmmc
install-vmmc: $(VMMC_SHARED) $(VMMC_STATIC) $(VMMC_DEBUG) $(VMMC_PC)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(VMMC_SHARED) $(VMMC_DEBUG) $(DESTDIR)$(LIBDIR)
	ln -sf $(VMMC_SONAME) $(DESTDIR)$(LIBDIR)/libvmmc.so
	ln -sf $(notdir $(VMMC_DEBUG)) $(DESTDIR)$(LIBDIR)/libvmmc_debug.so
	install -m 644 $(VMMC_STATIC) $(DESTDIR)$(LIBDIR)
	install -m 644 $(VMMC_PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/vmmc.h $(DESTDIR)$(INCLUDEDIR)
	$(if $(DESTDIR),,-ldconfig)

uninstall-vmmc:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(VMMC_SONAME) libvmmc.so libvmmc.a \
		libvmmc_debug.so.2 libvmmc_debug.so pkgconfig/libvmmc.pc) \
		$(DESTDIR)$(INCLUDEDIR)/vmmc.h

# --- samples -------------------------------------------------------------------

# By these names, in a folder of their own: the programs of the document have no prefix.
VMMC_SAMPLE_DIR	:= $(BUILD)/samples/vmmc
VMMC_SAMPLES	:= $(addprefix $(VMMC_SAMPLE_DIR)/,spawn latency all2all PPBandwidth OnewayBandwidth \
		   BidirBandwidth FetchBandwidth RandomChain RandomOne2All RandomAll2All)
VMMC_SAMPLE_OBJ	:= $(BUILD)/obj/tools/samples/vmmc

ALL_PROGS += $(VMMC_SAMPLES)

$(VMMC_SAMPLE_OBJ)/%.o: tools/samples/vmmc/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -c -o $@ $<

$(VMMC_SAMPLE_DIR)/spawn: $(VMMC_SAMPLE_OBJ)/spawn.o
$(VMMC_SAMPLE_DIR)/latency: $(VMMC_SAMPLE_OBJ)/latency.o
$(VMMC_SAMPLE_DIR)/all2all: $(VMMC_SAMPLE_OBJ)/all2all.o
$(filter %Bandwidth,$(VMMC_SAMPLES)): $(VMMC_SAMPLE_OBJ)/bandwidth.o
$(filter $(VMMC_SAMPLE_DIR)/Random%,$(VMMC_SAMPLES)): $(VMMC_SAMPLE_OBJ)/random.o

$(VMMC_SAMPLES): $(VMMC_SAMPLE_OBJ)/group.o $(VMMC_LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(LIBDD_DIR) -lvmmc -ldd \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib'

-include $(wildcard $(VMMC_SAMPLE_OBJ)/*.d)
