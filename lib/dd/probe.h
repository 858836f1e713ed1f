/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * probe.h - can memory be touched? Asked without touching it
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_PROBE_H
#define _DD_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

bool ddi_probe_readable(const void *addr, size_t len);
bool ddi_probe_writable(void *addr, size_t len);

/*
 * In what a program has from its start, so that no call finds it. That is
 * little, and also there for libraries that come later.
 */
#define DDI_TLS	__thread __attribute__((tls_model("initial-exec")))

/* The result that this thread received into last; good, from the beginning. */
extern DDI_TLS void *ddi_probe_last __attribute__((visibility("hidden")));

/* Was this the last one? */
static inline bool ddi_probe_known(const void *addr)
{
	return __builtin_expect(addr == ddi_probe_last, 1);
}

/* The same where ddi_alone(), in less; nothing is known before. */
extern void *ddi_probe_last_alone __attribute__((visibility("hidden")));

static inline bool ddi_probe_known_alone(const void *addr)
{
	return __builtin_expect(addr == ddi_probe_last_alone, 1);
}

static inline void ddi_probe_remember(void *addr)
{
	ddi_probe_last = addr;
	if (ddi_alone())
		ddi_probe_last_alone = addr;
}

#endif /* _DD_PROBE_H */
