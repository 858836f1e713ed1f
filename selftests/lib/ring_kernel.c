// SPDX-License-Identifier: LGPL-2.1-only
/*
 * ring_kernel.c - the system calls of ring_race: one service, one connection, one ring
 *
 * Copyright (C) 2026 The dd authors
 *
 * All lies at fixed places of an area, and regions lie behind it. Each mapping is the same
 * address again, since ThreadSanitizer finds races by address.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

extern int kernel_calls;	/* of ioctl() */

#define PAGE		4096u
#define SLOTS		(PAGE / sizeof(struct dd_ring_note))
#define MEMORY		(16 * PAGE)	/* for all regions */

/* Ids. The list of the client is never used. */
enum { LIST = 1, CLIENT_LIST, SERVICE, SERVER, CLIENT, REGION };

/* Pages of the area; that of @RING has the state, the next one the slots. */
enum { HEADS = 1, STATES, OWN, CLIENT_OWN, TABLE, RING, NOTES };

#define UNIT(page)	((page) * PAGE / DD_UNIT)
#define STATE_UNITS	2

int kernel_calls;

static int device = -1;
static char *area;
static size_t used;	/* of MEMORY */
static struct dd_serve served;
static struct dd_connect connected;

int __real_open(const char *path, int flags, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mremap(void *old, size_t len, size_t size, int flags, ...);

static void *unit_addr(uint32_t unit)
{
	return area + (size_t)unit * DD_UNIT;
}

static struct dd_ring_state *ring(void)
{
	return unit_addr(UNIT(RING));
}

static void list_init(int id, int own)
{
	struct dd_list_head *lh = unit_addr(UNIT(HEADS) + id);

	lh->geometry = (uint64_t)UNIT(own) << 32 | 5;
	lh->id = id;
}

static void cell_init(int id, uint64_t peer_size)
{
	struct dd_conn_state *cs = unit_addr(UNIT(STATES) + id * STATE_UNITS);

	cs->node = 1;
	cs->type = connected.type;
	cs->peer_size = peer_size;
	cs->window = served.window;
	cs->conn = 1ull << 32 | id;
}

static int serve(struct dd_serve *s)
{
	list_init(LIST, OWN);
	s->service = SERVICE;
	s->list = LIST;
	s->list_unit = UNIT(HEADS) + LIST;
	served = *s;
	return 0;
}

static int connect_client(struct dd_connect *c)
{
	list_init(CLIENT_LIST, CLIENT_OWN);
	connected = *c;
	cell_init(SERVER, c->recv.length);
	cell_init(CLIENT, served.recv.length);
	c->conn = 1ull << 32 | CLIENT;
	c->state_unit = UNIT(STATES) + CLIENT * STATE_UNITS;
	c->list = CLIENT_LIST;
	c->list_unit = UNIT(HEADS) + CLIENT_LIST;
	return 0;
}

static int conn_info(struct dd_conn_info *info)
{
	int id = (uint32_t)info->conn, l = id == SERVER ? LIST : CLIENT_LIST;

	info->conn = 1ull << 32 | id;
	info->list = l;
	info->list_unit = UNIT(HEADS) + l;
	info->service = id == SERVER ? SERVICE : 0;
	info->type = connected.type;
	info->state_unit = UNIT(STATES) + id * STATE_UNITS;
	info->window = info->send_window = served.window;
	info->send = id == SERVER ? served.send : connected.send;
	info->recv = id == SERVER ? served.recv : connected.recv;
	return 0;
}

static int direct(struct dd_direct *d)
{
	struct dd_list_head *lh = unit_addr(UNIT(HEADS) + LIST);
	struct dd_conn_state *cs = unit_addr(UNIT(STATES) + SERVER * STATE_UNITS);

	ring()->slots = SLOTS;
	lh->rings_unit = UNIT(TABLE);
	*(uint32_t *)unit_addr(UNIT(TABLE)) = UNIT(RING);
	cs->ring = UNIT(RING);
	__atomic_store_n(&lh->rings, 1, __ATOMIC_RELEASE);
	d->peer_conn = SERVER;
	d->block = DD_AREA_SIZE + served.recv.offset;
	d->block_size = served.recv.length;
	d->state = RING * PAGE;
	d->notes = NOTES * PAGE;
	d->slots = SLOTS;
	return 0;
}

static bool has_note(void)
{
	const struct dd_ring_note *notes = unit_addr(UNIT(NOTES));
	uint64_t head = ring()->head;

	return __atomic_load_n(&notes[head % SLOTS].seq, __ATOMIC_ACQUIRE) == head + 1;
}

/* A sender waits for the reader's position, the reader for a note. */
static int wait_for(unsigned long request, const void *arg)
{
	const struct dd_list_wait *l = arg;
	const struct dd_conn_wait *w = arg;
	int64_t limit = request == DD_IOC_LIST_WAIT ? l->timeout : w->timeout;
	struct timespec tick = { .tv_nsec = 200000 };

	while (request == DD_IOC_LIST_WAIT ? !has_note() :
	       __atomic_load_n(&ring()->head, __ATOMIC_ACQUIRE) < w->value) {
		if (limit >= 0 && (limit -= tick.tv_nsec) < 0)
			return -EAGAIN;
		nanosleep(&tick, NULL);
	}
	return 0;
}

static int dispatch(unsigned long request, void *arg)
{
	struct dd_region_alloc *ra = arg;

	switch (request) {
	case DD_IOC_INFO:
		((struct dd_info *)arg)->abi = DD_ABI_VERSION;
		return 0;
	case DD_IOC_REGION_ALLOC:
		ra->region = REGION + used / PAGE;
		ra->offset = DD_AREA_SIZE + used;
		used += ra->length;
		return used <= MEMORY ? 0 : -ENOMEM;
	case DD_IOC_SERVE:
		return serve(arg);
	case DD_IOC_CONNECT:
		return connect_client(arg);
	case DD_IOC_CONN_INFO:
		return conn_info(arg);
	case DD_IOC_DIRECT:
		return direct(arg);
	case DD_IOC_LIST_WAIT:
	case DD_IOC_CONN_WAIT:
		return wait_for(request, arg);
	case DD_IOC_WAKE:
	case DD_IOC_LIST_KICK:
		return 0;
	}
	return -ENOTTY;
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = dispatch(request, arg);

	(void)fd;
	__atomic_fetch_add(&kernel_calls, 1, __ATOMIC_RELAXED);
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
	area = __real_mmap(NULL, DD_AREA_SIZE + MEMORY, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	head = (void *)area;
	*head = (struct dd_area_head){ .magic = DD_AREA_MAGIC, .version = DD_ABI_VERSION,
				       .node = 1, .maxnodes = 2, .node_up = 1 };
	device = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	return device;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fd < 0 || fd != device)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	return area + offset;
}

/* The library maps the area small and extends it. */
void *__wrap_mremap(void *old, size_t len, size_t size, int flags, ...)
{
	(void)len;
	(void)size;
	(void)flags;
	return old;
}
