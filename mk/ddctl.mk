# SPDX-License-Identifier: GPL-2.0-only
#
# make build/bin/ddctl	the administration tool
# make check-ddctl	its command line, without the module
# make check-cluster	the cluster file
# make check-netlink	generated netlink code is that of the specification
# make netlink		generate it from Documentation/netlink/specs/dd.yaml

DDCTL		:= $(BUILD)/bin/ddctl
DDCTL_OBJS	:= $(patsubst %.c,$(BUILD)/obj/%.o,$(sort tools/common/tool.c \
		   $(wildcard tools/ddctl/*.c)))
DDCTL_PKGS	:= libnl-genl-3.0 json-c smartcols
# Evaluated when something is compiled: other targets need no pkg-config.
DDCTL_CFLAGS	= $(shell pkg-config --cflags $(DDCTL_PKGS))
DDCTL_LIBS	= $(shell pkg-config --libs $(DDCTL_PKGS))

ALL_PROGS += $(DDCTL)

$(DDCTL): $(DDCTL_OBJS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(DDCTL_LIBS)

$(BUILD)/obj/tools/ddctl/%.o: tools/ddctl/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(DDCTL_CFLAGS) -c -o $@ $<

-include $(DDCTL_OBJS:.o=.d)

CLUSTER_TEST	:= $(BUILD)/selftests/dd_cluster_test

.PHONY: check-ddctl check-cluster check-netlink netlink install-ddctl uninstall-ddctl
CHECKS += check-ddctl check-cluster check-netlink
check-ddctl: $(DDCTL) $(BUILD)/selftests/dd_uname.so
	selftests/admin/cli.sh $(DDCTL)

check-cluster: $(CLUSTER_TEST)
	$(CLUSTER_TEST)

$(CLUSTER_TEST): selftests/admin/cluster.c tools/ddctl/cluster.c \
		tools/ddctl/addr.c tools/ddctl/words.c $(wildcard tools/ddctl/*.h)
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(DDCTL_CFLAGS) \
		-fsanitize=address,undefined \
		-Wl,--wrap=addr_resolve,--wrap=addr_is_own \
		-o $@ $(filter %.c,$^)

check-netlink:
	@selftests/vm/check/netlink.sh

netlink:
	selftests/vm/kernels.sh fetch ynl
	selftests/vm/check/netlink.sh --write

SBINDIR		?= $(PREFIX)/sbin
MANDIR		?= $(PREFIX)/share/man
COMPLETIONDIR	?= $(PREFIX)/share/bash-completion/completions
COMPLETED	:= ddcp ddperf rmclerk rmfs cfgvmmc vmmcsvr

INSTALLS += install-ddctl
UNINSTALLS += uninstall-ddctl
install-ddctl: $(DDCTL)
	install -D -m 755 $(DDCTL) $(DESTDIR)$(SBINDIR)/ddctl
	install -D -m 644 tools/ddctl/completion.bash \
		$(DESTDIR)$(COMPLETIONDIR)/ddctl
	for of in $(COMPLETED); do install -m 644 tools/common/completion.bash \
		$(DESTDIR)$(COMPLETIONDIR)/$$of || exit; done
	install -D -m 644 Documentation/man/ddctl.8 \
		$(DESTDIR)$(MANDIR)/man8/ddctl.8
	install -D -m 644 Documentation/man/dd-cluster.conf.5 \
		$(DESTDIR)$(MANDIR)/man5/dd-cluster.conf.5

uninstall-ddctl:
	rm -f $(DESTDIR)$(SBINDIR)/ddctl \
		$(addprefix $(DESTDIR)$(COMPLETIONDIR)/,ddctl $(COMPLETED)) \
		$(DESTDIR)$(MANDIR)/man8/ddctl.8 \
		$(DESTDIR)$(MANDIR)/man5/dd-cluster.conf.5

# Programs for the scripts of selftests/admin.
NETLINK_TESTS := $(addprefix $(BUILD)/selftests/,dd_hold dd_ask dd_keys.json)

.PHONY: selftests
selftests: $(NETLINK_TESTS)

$(BUILD)/selftests/dd_hold: selftests/admin/hold.c selftests/core/raw.c \
		selftests/core/raw.h selftests/core/mem.h include/uapi/linux/dd.h \
		include/uapi/linux/dd_ddp.h include/uapi/linux/dd_mem.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -Iselftests/core -o $@ \
		$(filter %.c,$^)

$(BUILD)/selftests/dd_ask: selftests/admin/ask.c \
		include/uapi/linux/dd_netlink.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(DDCTL_CFLAGS) -o $@ $< \
		$(DDCTL_LIBS)

$(BUILD)/selftests/dd_uname.so: selftests/admin/uname.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -fPIC -shared -o $@ $<

$(BUILD)/selftests/dd_keys.json: selftests/admin/keys.py \
		Documentation/netlink/specs/dd.yaml
	@mkdir -p $(@D)
	$^ >$@
