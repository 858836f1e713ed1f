# SPDX-License-Identifier: GPL-2.0-only
#
# make install		install the build products below $(DESTDIR); with DESTDIR
#			empty also run depmod, create the group dd, reload udev
# make uninstall	remove them; with DESTDIR empty also stop rmclerk and
#			dd-cluster, and unload the module; the group dd stays
# make dkms-install	let DKMS build dd.ko for the running kernel, and for each one that
#			is installed later; replaces what DKMS or "make install" has
# make dkms-uninstall	undo that

INCLUDEDIR	?= $(PREFIX)/include
UDEVDIR		?= $(PREFIX)/lib/udev/rules.d
SYSUSERSDIR	?= $(PREFIX)/lib/sysusers.d
MODLOADDIR	?= $(PREFIX)/lib/modules-load.d
UNITDIR		?= $(PREFIX)/lib/systemd/system
DOCDIR		?= $(PREFIX)/share/doc/dd
# Search paths of "ynl --family dd" and Wireshark.
YNLDIR		?= $(PREFIX)/share/ynl/specs
WIRESHARKDIR	?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch)/wireshark/plugins
DKMS_SRC	?= /usr/src/dd-$(VERSION)

# kbuild installs below this; it follows DESTDIR.
INSTALL_MOD_PATH ?= $(DESTDIR)

# KDIR may belong to another kernel than the running one.
MOD_RELEASE	= $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		  $(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(KVER))
MOD_DIR		= $(INSTALL_MOD_PATH)/lib/modules/$(MOD_RELEASE)

# depmod prefers the module of DKMS to that of "make install": install only one.
DKMS_MODULE	= $(if $(INSTALL_MOD_PATH),,$(wildcard \
		  $(MOD_DIR)/updates/dkms/dd.ko $(MOD_DIR)/updates/dkms/dd.ko.?z*))

# A container has no kmod, or no modules of the running kernel.
DEPMOD		= $(if $(INSTALL_MOD_PATH),,[ ! -d $(MOD_DIR) ] || \
		  ! command -v depmod >/dev/null || depmod $(MOD_RELEASE))

# --- the module --------------------------------------------------------------

.PHONY: install-module keep-module uninstall-module
INSTALLS   += $(if $(wildcard $(KDIR)/Makefile),$(if \
	      $(DKMS_MODULE),keep-module,install-module),nomodules)
UNINSTALLS += uninstall-module

keep-module:
	@echo "dd.ko is not installed: DKMS has $(DKMS_MODULE);" \
	      "'make dkms-install' replaces it"

# Debian's headers ask for a signature and have no key: hide that message.
install-module: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=extra \
		INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) \
		$(if $(wildcard $(KDIR)/certs/signing_key.pem),,\
		CONFIG_MODULE_SIG_ALL=) modules_install
	$(DEPMOD)

# Some kernels have compressed modules.
uninstall-module:
	rm -f $(foreach m,dd dd_kunit kmemleak_shadow,$(addprefix $(MOD_DIR)/extra/$(m).ko,\
		'' .gz .xz .zst))
	[ ! -d $(MOD_DIR)/extra ] || \
		rmdir --ignore-fail-on-non-empty $(MOD_DIR)/extra
	-$(DEPMOD)

# --- files for the module -------------------------------------------------------

UAPI_HEADERS	:= include/uapi/linux/dd.h include/uapi/linux/dd_ddp.h \
		   include/uapi/linux/dd_mem.h include/uapi/linux/dd_netlink.h
DOCS		:= Documentation/protocol.rst Documentation/tutorial.rst
EXAMPLES	:= packaging/90-dd-memlock.conf packaging/cluster.conf \
	$(wildcard tools/samples/*.c)
VMMC_EXAMPLES	:= $(wildcard tools/samples/vmmc/*.[ch])
SBL_EXAMPLES	:= $(wildcard tools/samples/sbl/*.[ch])

.PHONY: install-system uninstall-system
INSTALLS   += install-system
UNINSTALLS += uninstall-system

install-system:
	install -d $(addprefix $(DESTDIR),$(INCLUDEDIR)/linux $(UDEVDIR) \
		$(SYSUSERSDIR) $(MODLOADDIR) $(UNITDIR) $(addprefix $(DOCDIR)/examples/,vmmc sbl) \
		$(YNLDIR) $(WIRESHARKDIR) /etc/dd)
	install -m 644 $(UAPI_HEADERS) $(DESTDIR)$(INCLUDEDIR)/linux
	install -m 644 packaging/60-dd.rules $(DESTDIR)$(UDEVDIR)
	install -m 644 packaging/dd.sysusers.conf \
		$(DESTDIR)$(SYSUSERSDIR)/dd.conf
	install -m 644 packaging/dd.modules-load.conf \
		$(DESTDIR)$(MODLOADDIR)/dd.conf
	install -m 644 $(EXAMPLES) $(DESTDIR)$(DOCDIR)/examples
	install -m 644 $(VMMC_EXAMPLES) $(DESTDIR)$(DOCDIR)/examples/vmmc
	install -m 644 $(SBL_EXAMPLES) $(DESTDIR)$(DOCDIR)/examples/sbl
	install -m 644 $(DOCS) $(DESTDIR)$(DOCDIR)
	install -m 644 Documentation/netlink/specs/dd.yaml $(DESTDIR)$(YNLDIR)
	install -m 644 tools/wireshark/dd.lua $(DESTDIR)$(WIRESHARKDIR)
	sed 's,@SBINDIR@,$(SBINDIR),' packaging/dd-cluster.service.in | \
		install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/dd-cluster.service
	$(if $(DESTDIR),,packaging/activate.sh)

uninstall-system:
	$(if $(DESTDIR),,packaging/deactivate.sh)
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/linux/,\
		$(notdir $(UAPI_HEADERS))) \
		$(DESTDIR)$(UDEVDIR)/60-dd.rules \
		$(DESTDIR)$(SYSUSERSDIR)/dd.conf \
		$(DESTDIR)$(MODLOADDIR)/dd.conf \
		$(DESTDIR)$(UNITDIR)/dd-cluster.service \
		$(DESTDIR)$(YNLDIR)/dd.yaml $(DESTDIR)$(WIRESHARKDIR)/dd.lua \
		$(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(DOCS))) \
		$(addprefix $(DESTDIR)$(DOCDIR)/examples/,$(notdir $(EXAMPLES)) \
		$(patsubst tools/samples/%,%,$(VMMC_EXAMPLES) $(SBL_EXAMPLES)))
	[ ! -d $(DESTDIR)$(DOCDIR)/examples/vmmc ] || \
		rmdir --ignore-fail-on-non-empty \
			$(addprefix $(DESTDIR)$(DOCDIR),/examples/vmmc /examples/sbl /examples '')
	[ ! -d $(DESTDIR)/etc/dd ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)/etc/dd

# --- everything ---------------------------------------------------------------

# Makefiles that are read later add to the lists.
.SECONDEXPANSION:
install: $$(INSTALLS)
uninstall: $$(UNINSTALLS)

# --- DKMS --------------------------------------------------------------------

# The files that the module is built from.
DKMS_FILES = Kbuild dkms.conf LICENSES kernel include/uapi

# DKMS knows a module by its version, which stays the same from commit to commit: remove it
# first, or DKMS keeps what it has, and build it again for the kernels that had it: last, and
# without those whose headers are gone.
.PHONY: dkms-install dkms-uninstall
dkms-install: $(if $(DESTDIR),,uninstall-module)
	rm -rf $(DESTDIR)$(DKMS_SRC)
	install -d $(DESTDIR)$(DKMS_SRC)
	tar -c --exclude='*.o' --exclude='*.mod*' --exclude='.*.cmd' \
		$(DKMS_FILES) | tar -x --no-same-owner -C $(DESTDIR)$(DKMS_SRC)
	$(if $(DESTDIR),,had=$$(dkms status -m dd -v $(VERSION) | \
		sed -n 's/^[^,]*, *\([^,]*\),.*/\1/p'); \
		[ -z "$$had" ] || dkms remove dd/$(VERSION) --all || exit; \
		dkms install dd/$(VERSION) || exit; \
		for k in $$had; do [ $$k = $$(uname -r) ] || \
			dkms install -m dd -v $(VERSION) -k $$k || \
			echo "kernel $$k has no module dd any more" >&2; done)

dkms-uninstall:
	$(if $(DESTDIR),,dkms remove dd/$(VERSION) --all)
	rm -rf $(DESTDIR)$(DKMS_SRC)
