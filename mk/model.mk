# SPDX-License-Identifier: GPL-2.0-only
#
# make check-model	lock-free protocols, explored in all their states; needs
#			spin

CHECKS += check-model

.PHONY: check-model
check-model:
	@selftests/transport/model/run.sh
