// SPDX-License-Identifier: LGPL-2.1-only
/*
 * error.c - error numbers: the kernel's, the protocol's, and their texts
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

static const struct {
	int kernel;
	int protocol;
} translation[] = {
	{ ENOENT,	EBADID },
	{ ESTALE,	EBADID },
	{ ENXIO,	EBADID },
	{ ECONNRESET,	ECONNCLOSE },
	{ ECONNREFUSED,	EBADSERVER },
	{ ENONET,	EBADSERVER },
	{ EHOSTUNREACH,	EBADSERVER },
	{ EPROTONOSUPPORT, EPROTO },
	{ ENETDOWN,	ENOCMP },
	{ ENOMEM,	ENORESOURCE },
	{ ENOSPC,	ENORESOURCE },
	{ EUSERS,	ENORESOURCE },
	{ ENOBUFS,	ENORESOURCE },
	{ EMFILE,	ENORESOURCE },
	{ ENFILE,	ENORESOURCE },
	{ EDQUOT,	EMEMLOCK },
	{ ERANGE,	EBADRANGE },
	{ EBUSY,	ENOTREADY },
};

/* From the kernel's -errno to the library's; others stay as they are. */
int ddi_error(int error)
{
	for (size_t i = 0; i < sizeof(translation) / sizeof(*translation); i++)
		if (error == -translation[i].kernel)
			return -translation[i].protocol;
	return error;
}

/* The protocol's: the system's number that is next to it, and the text. */
static const struct {
	int system;
	const char *text;
} errors[] = {
	[EBADID - EBADID] = { EBADF, "no such identifier in this process" },
	[EBADSERVER - EBADID] = { EHOSTUNREACH, "no such service, or no way to its node" },
	[ENOCMP - EBADID] = { ENODEV,
		"direct deposit is not running (module dd not loaded, or node down)" },
	[ENORESOURCE - EBADID] = { ENOMEM, "out of kernel resources" },
	[ECONNCLOSE - EBADID] = { ECONNRESET, "connection closed by the other end" },
	[ESLOTBUSY - EBADID] = { EBUSY,
		"a request is outstanding, its reply has not been consumed" },
	[EBADTYPE - EBADID] = { EINVAL, "not allowed on a connection of this type" },
	[EBADRANGE - EBADID] = { ERANGE, "message not inside the buffer" },
	[ENOTREADY - EBADID] = { EAGAIN, "the receiver is a full window of messages behind" },
	[EMEMLOCK - EBADID] = { EDQUOT,
		"locked memory limit (RLIMIT_MEMLOCK) reached, raise it with ulimit -l" },
};

/* A constant string, or NULL. Those of strerror() are constant in musl, and not in glibc. */
static const char *system_text(unsigned int error)
{
#ifdef __GLIBC__
	return strerrordesc_np(error);
#else
	return strerror(error);
#endif
}

DD_API const char *dd_strerror(int error)
{
	const char *text;
	unsigned int n = error < 0 ? -(unsigned int)error : (unsigned int)error;

	if (n >= EBADID && n <= EMEMLOCK)
		return errors[n - EBADID].text;
	text = n <= 4095 ? system_text(n) : NULL;
	return text ? text : "unknown error";
}

DD_API int dd_errno(int error)
{
	int n = error < 0 ? -error : error;

	return n >= EBADID && n <= EMEMLOCK ? errors[n - EBADID].system : n;
}

/* Keep a text that explains @error, of the kernel or of the library, for dd_last_error(). */
void ddi_reason(struct dd *h, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&h->reason_lock);
	vsnprintf(h->reason, sizeof(h->reason), format, args);
	h->reason_error = ddi_error(error);
	pthread_mutex_unlock(&h->reason_lock);
	va_end(args);
}

/* The text for errors of the kernel that mean one thing whatever was asked for; or NULL. */
static const char *kernel_text(int error)
{
	switch (-error) {
	case ENOMEM:
		return "the kernel is out of memory, or this process' memory cgroup is at its limit";
	case ENOSPC:
		return "a process has used up its area of 256 MiB, its ids, or the slots of a note list: close connections, or use more note lists";
	case EMFILE:
	case ENFILE:
		return "too many open files: raise RLIMIT_NOFILE ('ulimit -n'), or fs.file-max";
	}
	return NULL;
}

void ddi_reason_kernel(struct dd *h, int error)
{
	const char *text = kernel_text(error);

	if (error == -ENETDOWN)
		ddi_reason(h, error, "node %d, this one, is down: 'ddctl node up' starts it",
			   ddi_load(&ddi_head(h)->node));
	else if (text)
		ddi_reason(h, error, "%s", text);
}

/* Why the last dd_open() of this thread has failed, since there is no handle to keep that. */
static __thread struct {
	int error;
	const char *text;
} unopened __attribute__((tls_model("initial-exec")));

/* dd_open() fails with @error of the kernel or the library, which @text, or NULL, explains. */
int ddi_unopened(int error, const char *text)
{
	unopened.text = text ? text : kernel_text(error);
	unopened.error = ddi_error(error);
	return unopened.error;
}

/*
 * Copy the text kept for @error of the library, or any text if @error is 0; false if none. If @h
 * is NULL, that of the last dd_open() of this thread.
 */
bool ddi_reason_of(struct dd *h, int error, char *buf, size_t size)
{
	bool has;

	if (!h) {
		has = !error || unopened.error == error;
		if (has)
			snprintf(buf, size, "%s", unopened.text ? unopened.text : "");
		return has;
	}
	pthread_mutex_lock(&h->reason_lock);
	has = !error || h->reason_error == error;
	if (has)
		snprintf(buf, size, "%s", h->reason);
	pthread_mutex_unlock(&h->reason_lock);
	return has;
}

DD_API int dd_last_error(struct dd *h, char *buf, size_t size)
{
	if (h && !ddi_alive(h))
		return -EBADID;
	if (!buf || !size)
		return -EINVAL;
	ddi_reason_of(h, 0, buf, size);
	return 0;
}
