/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the doctor share.
 */
#ifndef DDCTL_DOCTOR_H
#define DDCTL_DOCTOR_H

#include <stdint.h>

#include "nl.h"

/**
 * enum verdict - on one thing that was looked at
 * @GOOD: as it should be
 * @NOTE: good to know, nothing needs doing
 * @BAD: needs doing
 */
enum verdict {
	GOOD,
	NOTE,
	BAD,
};

/* The module's lines begin with "dd: "; many others have "dd" in them. */
#define SEE_LOG	"As root, what the module has said: dmesg | grep -w 'dd:'"

/* Report on @check; @advice, what to do, may be NULL. */
void found(enum verdict v, const char *check, const char *advice,
	   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

uint32_t number(json_object *row, const char *key);

/* Peers, and the port that they send to; @node is this node. */
void check_network(struct ddnl *nl, json_object *node);

#endif /* DDCTL_DOCTOR_H */
