/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * segment.h - a segment, its exporter and an importer
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_SEGMENT_H
#define _DD_TESTS_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dd_mem.h"
#include "tap.h"
#include "worker.h"

#define PAGE	4096
#define ALL	(DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS)

extern const unsigned char key[DD_KEY_SIZE];

extern struct dd *ex, *im;
extern struct dd_export_attr attr;
extern struct dd_mem *mem;
extern uint64_t segment;
extern char *shared;	/* the segment, a page of private memory */

/* Between nodes, by across.sh, the exporter's handle belongs to the other node. */
extern bool far;

/* Imports have windows on their segments. */
extern bool direct;

/* Go to the exporter's node, or to the importer's, which are two between nodes. */
int enter_exporter(void);
int enter_importer(void);

int owner(void);
struct dd_export_attr attributes(void);
void begin(int list, unsigned int notify);
void end(void);

/* Export the segment with other attributes, and import it again. */
void reexport(unsigned int rights, unsigned int flags, size_t len);

/* Requests of the only import that the kernel has executed. */
long long by_kernel(void);

#endif /* _DD_TESTS_SEGMENT_H */
