# SPDX-License-Identifier: GPL-2.0-only
#
# make demo		everything at work in a virtual machine; where make is not
#			installed yet: selftests/demo/demo.sh

.PHONY: demo
demo:
	@selftests/demo/demo.sh
