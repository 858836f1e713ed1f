# SPDX-License-Identifier: GPL-2.0-only
#
# make demo		a demonstration in a virtual machine, on Debian's kernel;
#			without make: selftests/tools/demo/demo.sh
# make demo-cluster	two virtual machines as a cluster

.PHONY: demo
demo:
	@selftests/tools/demo/demo.sh

# Two machines over a QEMU socket.
.PHONY: demo-cluster
demo-cluster:
	@selftests/tools/demo/cluster.sh
