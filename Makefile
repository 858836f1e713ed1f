# SPDX-License-Identifier: GPL-2.0-only
#
# make                 dd.ko for the running kernel (if its headers are there),
#                      libdd and the tools
# make install         the same, installed below $(DESTDIR)
# make demo            a demonstration in a virtual machine
# make quick           build after an edit and run a list of tests, in a minute
# make check           tests that need neither root nor a virtual machine
# make test            the gate: all tests that a change has to pass
# make vm RUN='...'    one command in a virtual machine with dd.ko loaded
# make clean           remove what was built, except the guests' kernels
# make help            list the targets

VERSION	:= 0.1.0
BUILD	:= build
PREFIX	?= /usr
KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build

# Compilers through ccache, where it is installed.
export PATH := /usr/lib/ccache:$(PATH)
# It finds objects that another checkout has compiled.
export CCACHE_NOHASHDIR := 1
CC	?= gcc
CFLAGS	?= -O2 -g
override CFLAGS += $(CPPFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
	-Wmissing-prototypes -Wstrict-prototypes -Werror=implicit \
	-DDD_VERSION='"$(VERSION)"' -Iinclude -Iinclude/uapi -MMD -MP

ALL_PROGS :=
ALL_LIBS  :=
CHECKS	  :=
INSTALLS  :=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all user modules check install uninstall clean

include $(sort $(wildcard mk/*.mk))

all: user $(if $(wildcard $(KDIR)/Makefile),modules,nomodules)
user: $(ALL_LIBS) $(ALL_PROGS)

.PHONY: nomodules
nomodules:
	@echo "dd.ko is not built: $(KDIR) is not there;" \
	      "install linux-headers-$(KVER), or set KDIR=..."

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# Prints the comments at the head of the makefiles.
.PHONY: help
help:
	@awk 'FNR == 1 { head = 1; on = 0 } !/^#/ { head = 0 } /^#$$/ { on = 0 } !head { next } \
	{ sub(/^#[ \t]*/, "") } \
	/^make/ { at = match($$0, /\t|  /); what = substr($$0, 1, at - 1); \
		  on = at && !seen[what]++; $$0 = substr($$0, at) } \
	on { sub(/^[ \t]+/, ""); printf "%-24s %s\n", what, $$0; what = "" }' \
		mk/*.mk Makefile

clean:
	rm -rf $(BUILD)
	@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) -s -C $(KDIR) M=$(CURDIR) clean; fi
