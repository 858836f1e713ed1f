/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of ddctl doctor.
 */
#ifndef DDCTL_DOCTOR_H
#define DDCTL_DOCTOR_H

#include <stdint.h>

#include "nl.h"

/**
 * enum verdict - result of one check
 * @GOOD: nothing to do
 * @NOTE: worth knowing, nothing to do
 * @BAD: to be fixed
 */
enum verdict {
	GOOD,
	NOTE,
	BAD,
};

/* Lines of the module begin with "dd: "; many others contain "dd". */
#define SEE_LOG	"See the messages of the module, as root: dmesg | grep -w 'dd:'"

/* Report the result of @check; @advice says how to fix it, and may be NULL. */
void found(enum verdict v, const char *check, const char *advice,
	   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Check peers and UDP port; @node is this node. */
void check_network(struct ddnl *nl, json_object *node);

#endif /* DDCTL_DOCTOR_H */
