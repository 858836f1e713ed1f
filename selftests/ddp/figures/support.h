/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * support.h - declarations that the figures use and do not make
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _FIGURES_SUPPORT_H
#define _FIGURES_SUPPORT_H

int reverse(char *from, char *to, int size);
int do_something_else(void);
int process_echo_response(void);
int process_reverse_response(void);

#endif /* _FIGURES_SUPPORT_H */
