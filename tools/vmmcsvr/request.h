/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h - what the server is asked for
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef VMMCSVR_REQUEST_H
#define VMMCSVR_REQUEST_H

/*
 * Serve the peer's request: a verb and what it needs, of user peer_uid. Returns, after the reply, if it
 * has started a process; else the child ends. request_watch(): until that process ends.
 */
void request_run(char **text, int count);
void request_watch(void) __attribute__((noreturn));

#endif
