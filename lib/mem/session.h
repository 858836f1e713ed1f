/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * session.h - the session of the process, and the server of this node that has it
 *
 * Copyright (C) 2026 The dd authors
 *
 * VMMCSESSION of the environment names the session. The server, vmmcsvr, is asked through a Unix
 * socket; it asks those of other nodes. Not in a handler of notifications.
 */
#ifndef _DD_SESSION_H
#define _DD_SESSION_H

/* Become a process of the session, unless the server has started this one. Errors have no effect. */
void ddi_session_enter(void);

/* Whether this process is one of a session. */
int ddi_session(void);

/*
 * Start a process on a node. 0; -EHOSTUNREACH: no session, no such node, or its server is busy or does
 * not answer; -ENOMEM: a limit; -EPERM; or -EINVAL: the program or the directory.
 */
int ddi_session_spawn(const char *program, char **argv, int node, int *pid);

/* Ask whether a process exists: a descriptor for the answer, or -1. It does not wait. */
int ddi_session_ask(int node, int pid);

/*
 * The answer: -EAGAIN: it is not there yet. Otherwise the descriptor is closed: 0, -ESRCH, or another
 * error if that cannot be found out.
 */
int ddi_session_answer(int fd);

/* The process that has spawned this one: 0, or -ESRCH. */
int ddi_session_parent(int *node, int *pid);

#endif /* _DD_SESSION_H */
