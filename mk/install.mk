# SPDX-License-Identifier: GPL-2.0-only
#
# make install		what was built, below $(DESTDIR); with DESTDIR empty
#			also what makes it usable at once (depmod, group dd, udev)
# make uninstall	removes what "make install" put there, with DESTDIR empty
#			also dd-cluster and the loaded module; the group dd stays
# make dkms-install	dd.ko for each kernel, by DKMS, now and when one is added;
#			make dkms-uninstall: no more

INCLUDEDIR	?= $(PREFIX)/include
UDEVDIR		?= $(PREFIX)/lib/udev/rules.d
SYSUSERSDIR	?= $(PREFIX)/lib/sysusers.d
MODLOADDIR	?= $(PREFIX)/lib/modules-load.d
UNITDIR		?= $(PREFIX)/lib/systemd/system
DOCDIR		?= $(PREFIX)/share/doc/dd
# Where "ynl --family dd" and Wireshark look.
YNLDIR		?= $(PREFIX)/share/ynl/specs
WIRESHARKDIR	?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch)/wireshark/plugins
DKMS_SRC	?= /usr/src/dd-$(VERSION)

# kbuild installs below this; packagers set it where they set DESTDIR.
INSTALL_MOD_PATH ?= $(DESTDIR)

# KDIR may be of another kernel than the running one.
MOD_RELEASE	= $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		  $(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(KVER))
MOD_DIR		= $(INSTALL_MOD_PATH)/lib/modules/$(MOD_RELEASE)

# --- the module --------------------------------------------------------------

.PHONY: install-module uninstall-module
INSTALLS   += $(if $(wildcard $(KDIR)/Makefile),install-module,nomodules)
UNINSTALLS += uninstall-module

# Debian's headers ask for a signature and bring no key: no noise about that.
install-module: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=extra \
		INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) \
		$(if $(wildcard $(KDIR)/certs/signing_key.pem),,\
		CONFIG_MODULE_SIG_ALL=) modules_install
	$(if $(INSTALL_MOD_PATH),,depmod $(MOD_RELEASE))

# Kernels may want their modules compressed.
uninstall-module:
	rm -f $(foreach m,dd dd_kunit kmemleak_shadow,$(addprefix $(MOD_DIR)/extra/$(m).ko,\
		'' .gz .xz .zst))
	[ ! -d $(MOD_DIR)/extra ] || \
		rmdir --ignore-fail-on-non-empty $(MOD_DIR)/extra
	$(if $(INSTALL_MOD_PATH),,depmod $(MOD_RELEASE))

# --- what goes with it -------------------------------------------------------

UAPI_HEADERS	:= include/uapi/linux/dd.h include/uapi/linux/dd_netlink.h
DOCS		:= Documentation/protocol.rst

.PHONY: install-system uninstall-system
INSTALLS   += install-system
UNINSTALLS += uninstall-system

install-system:
	install -d $(addprefix $(DESTDIR),$(INCLUDEDIR)/linux $(UDEVDIR) \
		$(SYSUSERSDIR) $(MODLOADDIR) $(UNITDIR) $(DOCDIR)/examples \
		$(YNLDIR) $(WIRESHARKDIR))
	install -m 644 $(UAPI_HEADERS) $(DESTDIR)$(INCLUDEDIR)/linux
	install -m 644 packaging/60-dd.rules $(DESTDIR)$(UDEVDIR)
	install -m 644 packaging/dd.sysusers.conf \
		$(DESTDIR)$(SYSUSERSDIR)/dd.conf
	install -m 644 packaging/dd.modules-load.conf \
		$(DESTDIR)$(MODLOADDIR)/dd.conf
	install -m 644 packaging/90-dd-memlock.conf packaging/cluster.conf \
		$(DESTDIR)$(DOCDIR)/examples
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
		$(addprefix $(DESTDIR)$(DOCDIR)/examples/,\
		90-dd-memlock.conf cluster.conf)
	[ ! -d $(DESTDIR)$(DOCDIR)/examples ] || \
		rmdir --ignore-fail-on-non-empty \
			$(addprefix $(DESTDIR)$(DOCDIR),/examples '')

# --- all of it ---------------------------------------------------------------

# The other parts' makefiles, read later, add to the lists.
.SECONDEXPANSION:
install: $$(INSTALLS)
uninstall: $$(UNINSTALLS)

# --- DKMS --------------------------------------------------------------------

# All that the module is built of, and nothing else.
DKMS_FILES = Kbuild dkms.conf LICENSES kernel include/uapi

.PHONY: dkms-install dkms-uninstall
dkms-install:
	install -d $(DESTDIR)$(DKMS_SRC)
	tar -c --exclude='*.o' --exclude='*.mod*' --exclude='.*.cmd' \
		$(DKMS_FILES) | tar -x --no-same-owner -C $(DESTDIR)$(DKMS_SRC)
	$(if $(DESTDIR),,dkms install dd/$(VERSION))

dkms-uninstall:
	$(if $(DESTDIR),,dkms remove dd/$(VERSION) --all)
	rm -rf $(DESTDIR)$(DKMS_SRC)
