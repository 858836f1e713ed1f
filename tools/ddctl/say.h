/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages and exit status. */
#ifndef DDCTL_SAY_H
#define DDCTL_SAY_H

/* Exit status; part of the interface, see ddctl(8). */
enum ddctl_exit {
	EXIT_OK = 0,		/* done */
	EXIT_RUNTIME = 1,	/* a system call, a file or the network failed */
	EXIT_USAGE = 2,		/* wrong command line */
	EXIT_NO_MODULE = 3,	/* dd.ko is not loaded */
	EXIT_PERMISSION = 4,	/* the caller is not permitted to do this */
	EXIT_REFUSED = 5,	/* the kernel refused the request */
	EXIT_FINDINGS = 6,	/* doctor found something to fix */
	EXIT_CLUSTER = 7,	/* the cluster file has errors, or does not fit */
	EXIT_PARTLY = 8,	/* applied without nodes whose names have no usable address */
};

/* Print a line on standard error. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What say() has printed, lines separated by '\n'; "" if it has printed nothing. */
const char *said(void);

/* Print an error and return @status. */
#define fail(status, ...)	(say(__VA_ARGS__), (status))

/* Return @p; if it is NULL, report that memory is exhausted and exit. */
void *must(void *p);

#endif /* DDCTL_SAY_H */
