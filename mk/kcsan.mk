# SPDX-License-Identifier: GPL-2.0-only
#
# make kcsan		data races in dd.ko, on a kernel built for that (ten CPU
#			minutes, once); part of "make nightly"

.PHONY: kcsan
kcsan: deps
	@selftests/vm/kernels.sh fetch kcsan
	@selftests/core/kcsan.sh
