# SPDX-License-Identifier: GPL-2.0-only
#
# make demo		a demonstration in a virtual machine, on Debian's kernel;
#			without make: selftests/tools/demo/demo.sh

.PHONY: demo
demo:
	@selftests/tools/demo/demo.sh
