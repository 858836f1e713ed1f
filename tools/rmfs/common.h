/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * common.h - names and failures
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_COMMON_H
#define _RMFS_COMMON_H

#include <stddef.h>

#include "rmem.h"

/* Names that follow from that of a server: of its inbox, and of the service of a clerk */
#define INBOX	"inbox:%s"
#define SERVICE	"rmfs:%s"

/* Exits if the name is too long. */
void name_make(char made[RM_NAME_MAX + 1], const char *format, const char *name);

/* Print a message and exit. */
void __attribute__((noreturn)) fail(const char *what, int error);

/* Zeroed memory of whole pages; exits if there is none. */
void *memory(size_t len);

#endif /* _RMFS_COMMON_H */
