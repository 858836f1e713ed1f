// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake.c - the system calls of a kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 *
 * One context, memory never reused; one direct ring for a list, whose windows
 * are mappings of the same memory once more. The linker's --wrap option puts
 * these functions in the place of the C library's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#include "fake_int.h"

struct fake fake;
struct object objects[OBJECTS];
char *area;

static uint32_t next_unit, next_id, epoch = 1;
static int fake_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, unsigned long arg);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __real_close(int fd);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);
#ifdef FAKE_ONE_ADDRESS
/* What looks for races by address wants the area at one address, which is whole. */
void *__real_mremap(void *old, size_t len, size_t size, int flags, ...);
void *__wrap_mremap(void *old, size_t len, size_t size, int flags, ...);

void *__wrap_mremap(void *old, size_t len, size_t size, int flags, ...)
{
	return old == area ? area : __real_mremap(old, len, size, flags);
}

static void *area_map(size_t len)
{
	return area;
}
#else
/* A second mapping of the area, for the library to expand. */
static void *area_map(size_t len)
{
	return mremap(area, 0, len, MREMAP_MAYMOVE);
}
#endif

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __wrap_close(int fd);

/* ---- what ids and units name --------------------------------------------- */

uint32_t units(uint32_t count)
{
	uint32_t unit = next_unit;

	next_unit += count;
	return unit;
}

/* The next units begin at a multiple of @count. */
void units_align(uint32_t count)
{
	next_unit = (next_unit + count - 1) / count * count;
}

static struct object *object_free(int kind)
{
	/* The first one stays free. */
	for (uint32_t i = 1; i < OBJECTS; i++) {
		struct object *o = &objects[i];

		if (o->kind != FREE)
			continue;
		memset(o, 0, sizeof(*o));
		o->kind = kind;
		return o;
	}
	return NULL;
}

struct object *object_new(int kind)
{
	struct object *o = object_free(kind);

	if (!o)
		return NULL;
	o->id = ++next_id;
	o->epoch = epoch;
	return o;
}

/* As if so many ids had been given out that they begin again. */
struct object *object_again(int kind)
{
	struct object *o = object_free(kind);

	if (!o)
		return NULL;
	o->id = fake.id_again;
	o->epoch = ++epoch;
	fake.id_again = 0;
	return o;
}

struct object *object_get(uint32_t id, int kind)
{
	for (uint32_t i = 1; id && i < OBJECTS; i++)
		if (objects[i].id == id &&
		    objects[i].kind == (unsigned int)kind)
			return &objects[i];
	return NULL;
}

struct object *conn_get(uint64_t serial)
{
	struct object *o = object_get(serial, CONN);

	return o && serial_of(o) == serial ? o : NULL;
}

static void *wired(size_t size)
{
	void *addr = __real_mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
				 -1, 0);

	/* As the memory of dd.ko: children do not get it. */
	madvise(addr, size, MADV_DONTFORK);
	return addr;
}

static int do_region_alloc(struct dd_region_alloc *ra)
{
	struct object *r;

	if (ra->length > 1 << 24)
		return -EDQUOT;
	r = object_new(REGION);
	r->size = ra->length = (ra->length + 4095) & ~4095ull;
	r->addr = wired(r->size);
	ra->region = r->id;
	ra->offset = (uint64_t)r->id << 32;
	return 0;
}

/* ---- waiting ------------------------------------------------------------ */

static int wait_for(unsigned long request, void *arg, uint64_t timeout)
{
	struct timespec tick = { .tv_nsec = 200000 };

	for (uint64_t waited = 0;; waited += tick.tv_nsec) {
		int ret;

		pthread_mutex_lock(&lock);
		ret = request == DD_IOC_LIST_WAIT ? lists_ready(arg) :
						    conn_reached(arg);
		pthread_mutex_unlock(&lock);
		if (ret)
			return ret < 0 ? ret : 0;
		if (waited >= timeout)
			return timeout ? -ETIMEDOUT : -EAGAIN;
		nanosleep(&tick, NULL);
	}
}

/* ---- the system calls --------------------------------------------------- */

static int dispatch(unsigned long request, unsigned long arg)
{
	struct object *o;

	switch (request) {
	case DD_IOC_INFO: {
		struct dd_info *info = (void *)arg;

		info->packet_size = 65536;
		info->memlock_limit = 1 << 24;
		return 0;
	}
	case DD_IOC_REGION_ALLOC:
		return do_region_alloc((void *)arg);
	case DD_IOC_SERVE:
		return do_serve((void *)arg);
	case DD_IOC_CONNECT:
		return do_connect((void *)arg);
	case DD_IOC_CONN_INFO:
		return do_conn_info((void *)arg);
	case DD_IOC_CONN_LIST:
		return do_conn_list((void *)arg);
	case DD_IOC_DIRECT:
		return do_direct((void *)arg);
	case DD_IOC_SUBMIT:
		return do_submit((void *)arg);
	case DD_IOC_WAKE:
		return 0;
	case DD_IOC_LIST_INFO: {
		struct dd_list_info *info = (void *)arg;

		o = object_get(info->list, LIST);
		if (!o)
			return -ENOENT;
		info->list_unit = o->unit;
		return 0;
	}
	case DD_IOC_DOORBELL:
		return doorbell(arg);
	case DD_IOC_LIST_KICK:
		o = object_get(arg, LIST);
		return o ? list_kick(o) : -ENOENT;
	case DD_IOC_REGION_FREE:
		o = object_get(arg, REGION);
		if (!o)
			return -ENOENT;
		o->kind = FREE;
		return 0;
	case DD_IOC_CLOSE:
		return do_close(arg);
	case DD_IOC_UNSERVE:
		return do_unserve(arg);
	}
	return -ENOTTY;
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int ret;

	if (fd != fake_fd)
		return __real_ioctl(fd, request, arg);
	__atomic_fetch_add(&fake.calls, 1, __ATOMIC_RELAXED);
	if (fake.interrupts) {
		fake.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (fake.other && fake.other_at == request) {
		void (*other)(void) = fake.other;

		fake.other = NULL;
		other();
	}
	if (fake.refuse == request) {
		fake.refuse = 0;
		errno = fake.refusal;
		return -1;
	}
	if (request == DD_IOC_LIST_WAIT) {
		ret = wait_for(request, (void *)arg,
			       ((struct dd_list_wait *)arg)->timeout);
	} else if (request == DD_IOC_CONN_WAIT) {
		ret = wait_for(request, (void *)arg,
			       ((struct dd_conn_wait *)arg)->timeout);
	} else {
		pthread_mutex_lock(&lock);
		ret = dispatch(request, arg);
		pthread_mutex_unlock(&lock);
	}
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	struct dd_area_head *head;

	if (strcmp(path, "/dev/dd"))
		return __real_open(path, flags);
	if (fake.absent) {
		errno = fake.absent;
		return -1;
	}
	area = wired(DD_AREA_SIZE);
	head = (void *)area;
	*head = (struct dd_area_head){ .magic = DD_AREA_MAGIC,
				       .version = DD_ABI_VERSION, .node = 1,
				       .maxnodes = 2, .node_up = 1 };
	next_unit = 1;
	lists_reset();
	fake_fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	return fake_fd;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	struct object *r;

	if (fd < 0 || fd != fake_fd)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	if (offset == DD_AREA_OFFSET)
		return area_map(len);
	if (offset & WINDOW && fake.unmapped && !--fake.unmapped) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (offset & WINDOW)
		return window_map(offset, len);
	r = object_get((uint64_t)offset >> 32, REGION);
	return r ? r->addr : MAP_FAILED;
}

int __wrap_close(int fd)
{
	if (fd == fake_fd) {
		memset(objects, 0, sizeof(objects));
		fake_fd = -1;
	}
	return __real_close(fd);
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}
