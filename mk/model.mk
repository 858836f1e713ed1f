# SPDX-License-Identifier: GPL-2.0-only
#
# make check-model	model check of the lock-free protocols; needs spin

CHECKS += check-model

.PHONY: check-model
check-model:
	@selftests/transport/model/run.sh
