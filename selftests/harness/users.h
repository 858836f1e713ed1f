/* SPDX-License-Identifier: LGPL-2.1-only */
/* The users of a guest, which selftests/vm/image.sh makes. */
#ifndef _DD_TESTS_USERS_H
#define _DD_TESTS_USERS_H

#include <sys/types.h>

#define ALICE	1000
#define BOB	1001
#define DD_GID	900	/* the group that may open /dev/dd */

/*
 * Become an ordinary user with access to /dev/dd, whose processes Alice may end; 0 or -1.
 * The process is killed when its parent exits.
 */
int become_user(uid_t uid);

#endif /* _DD_TESTS_USERS_H */
