# SPDX-License-Identifier: GPL-2.0-only
#
# make kcsan		data races in dd.ko, found by a kernel built for that
#			(minutes, once); not part of "make test"

.PHONY: kcsan
kcsan: deps
	@selftests/vm/kernels.sh fetch kcsan
	@selftests/core/kcsan.sh
