/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - what vmmcsvr.conf, cluster.conf and the module say; the log
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef VMMCSVR_CONFIG_H
#define VMMCSVR_CONFIG_H

#include <stdbool.h>

#define VMMCSVR_CONF	"/etc/dd/vmmcsvr.conf"

/* This node's name and number, and the maximum of nodes. */
extern const char *node_name;
extern int node_number, node_count;

/* Check the file and find out about the node; an error ends the server. */
void config_init(const char *file);

/* The value of a setting, or @otherwise. The file is read: a change needs no new start. */
long long config_number(const char *key, long long otherwise);
const char *config_text(const char *key, const char *otherwise);

/* Whether a line @key has a pattern of glob(7) that matches. */
bool config_permits(const char *key, const char *value);

/* The name of a node in cluster.conf, or NULL. */
const char *config_host(int node);

/* A line of the log, with the time. Control characters become question marks. */
void logs(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The last line. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
