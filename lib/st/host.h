/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * host.h - names of hosts and services
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_HOST_H
#define _ST_HOST_H

#include "dd.h"

/* The node of a host, NULL for this one; -1: of no node. 0; EHOSTUNREACH: no such name. */
int st_host_node(struct dd *h, const char *host, int *node);

/* The number of a service; 0 if it is to be chosen. 0 or EINVAL. */
int st_service_port(const char *service, unsigned int *port);

#endif /* _ST_HOST_H */
