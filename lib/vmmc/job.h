/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * job.h - the nodes of a batch job
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_JOB_H
#define _VMMC_JOB_H

/* Names of the nodes of the Slurm job, separated by blanks; allocated, NULL if there is no job. */
char *vmmc_job_hosts(void);

#endif /* _VMMC_JOB_H */
