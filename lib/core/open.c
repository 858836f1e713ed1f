// SPDX-License-Identifier: LGPL-2.1-only
/*
 * open.c - a handle: one context of /dev/dd, and its tables
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev.h"
#include "error.h"
#include "list.h"
#include "open.h"
#include "region.h"

#define DD_DEVICE	"/dev/dd"

static int not_opened(int error)
{
	switch (error) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		/* No such file, or no driver for it. */
		return ddi_unopened(-ENOCMP, "there is no " DD_DEVICE ": 'modprobe dd' loads the module");
	case EACCES:
	case EPERM:
		return ddi_unopened(-error, "this user may not open " DD_DEVICE ": 'ddctl doctor' says what to do");
	}
	return ddi_unopened(-error, error == EDQUOT ?
			    "RLIMIT_MEMLOCK of this user is used up: raise it with 'ulimit -l' or in /etc/security/limits.conf" : NULL);
}

static int not_mapped(int error)
{
	return ddi_unopened(-error, error == ENOMEM ?
			    "no address space for a handle, 261 MiB: raise RLIMIT_AS ('ulimit -v')" : NULL);
}

/*
 * After mlockall(MCL_FUTURE), mmap() compares the length with RLIMIT_MEMLOCK although
 * the area is never locked. So map little and extend it. mremap() moves a mapping of a
 * device to extend it, but fails where it has room to grow in place: take that room. If
 * the guard cannot be mapped, another mapping is there.
 */
static int area_map(struct dd *h)
{
	char *small = ddi_map(h, DD_AREA_OFFSET, DDI_PAGE_MAX, PROT_READ | PROT_WRITE);
	void *guard;
	int ret;

	if (!small)
		return not_mapped(errno);
	guard = mmap(small + DDI_PAGE_MAX, 1, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	h->area = mremap(small, DDI_PAGE_MAX, DD_AREA_SIZE, MREMAP_MAYMOVE);
	ret = h->area == MAP_FAILED ? not_mapped(errno) : 0;
	if (guard != MAP_FAILED)
		munmap(guard, 1);
	if (ret)
		munmap(small, DDI_PAGE_MAX);
	return ret;
}

static int device_open(struct dd *h)
{
	struct dd_info info = { .size = sizeof(info) };
	int ret;

	h->fd = ddi_fd_above(open(DD_DEVICE, O_RDWR | O_CLOEXEC));
	if (h->fd < 0)
		return not_opened(errno);
	/* Before it is mapped: a mapping of another file may be shorter, and accesses fault. */
	if (ddi_ioctl(h, DD_IOC_INFO, &info) < 0)
		ret = ddi_unopened(-ENOCMP, DD_DEVICE " is not the device of the loaded module dd: 'ddctl doctor' says what to do");
	else if (info.abi != DD_ABI_VERSION)
		ret = ddi_unopened(-EPROTO, "module dd and libdd are of different releases");
	else
		ret = area_map(h);
	if (ret)
		close(h->fd);
	return ret;
}

/* LeakSanitizer searches no mappings for pointers: name those that a handle has. */
void __lsan_register_root_region(const void *start, size_t size) __attribute__((weak));
void __lsan_unregister_root_region(const void *start, size_t size) __attribute__((weak));

static void handle_free(struct dd *h)
{
	ddi_list_release(h);
	pthread_rwlock_destroy(&h->region_lock);
	pthread_mutex_destroy(&h->reason_lock);
	pthread_mutex_destroy(&h->direct_lock);
	pthread_mutex_destroy(&h->lock);
	if (__lsan_unregister_root_region)
		__lsan_unregister_root_region(h, sizeof(*h));
	munmap(h, sizeof(*h));
}

DD_API int dd_open(struct dd **handle)
{
	const char *direct = getenv("DD_DIRECT");
	struct dd *h;
	int ret;

	if (!handle)
		return -EINVAL;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h == MAP_FAILED)
		return not_mapped(errno);
	/* Few entries are used, so huge pages would waste memory. */
	madvise(h, sizeof(*h), MADV_NOHUGEPAGE);
	if (__lsan_register_root_region)
		__lsan_register_root_region(h, sizeof(*h));
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->direct_lock, NULL);
	pthread_mutex_init(&h->reason_lock, NULL);
	pthread_rwlock_init(&h->region_lock, NULL);
	h->direct = !direct || strcmp(direct, "0");
	ddi_store(&h->board.alive, 1);

	/*
	 * A child of fork() does not inherit the area and would fault on it, so its tables
	 * are wiped. A child of vfork() shares both.
	 */
	ret = madvise(&h->board, sizeof(h->board), MADV_WIPEONFORK) ?
	      ddi_unopened(-errno, NULL) : device_open(h);
	if (ret) {
		handle_free(h);
		return ret;
	}
	*handle = h;
	return 0;
}

void ddi_at_shutdown(struct dd *h, void (*release)(struct dd *h))
{
	int i = 0;

	while (h->releases[i] && h->releases[i] != release)
		i++;
	h->releases[i] = release;
}

DD_API int dd_shutdown(struct dd *h)
{
	if (!ddi_alive(h))
		return -EBADID;

	for (int i = 0; h->releases[i]; i++)
		h->releases[i](h);
	/* Asks the kernel about regions, which end with the area. */
	ddi_region_release(h);
	munmap(h->area, DD_AREA_SIZE);
	close(h->fd);
	handle_free(h);
	return 0;
}

DD_API int dd_fd(struct dd *h)
{
	return ddi_alive(h) ? h->fd : -EBADID;
}

DD_API const char *dd_version(void)
{
	return DD_VERSION;
}

DD_API int dd_node(struct dd *h)
{
	if (!ddi_alive(h))
		return -EBADID;
	return ddi_load(&ddi_head(h)->node);
}

/* As the kernel takes it: IPv6, or IPv4-mapped. */
static int find_args(struct dd_node_find *find, const struct sockaddr *sa, socklen_t len)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

	*find = (struct dd_node_find){ .size = sizeof(*find) };
	if (!sa || len < sizeof(sa->sa_family))
		return -EINVAL;
	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (len < (sa->sa_family == AF_INET ? sizeof(*in) : sizeof(*in6)))
		return -EINVAL;
	if (sa->sa_family == AF_INET) {
		memcpy(find->address, mapped, sizeof(mapped));
		memcpy(find->address + sizeof(mapped), &in->sin_addr, sizeof(in->sin_addr));
	} else {
		memcpy(find->address, &in6->sin6_addr, sizeof(find->address));
		find->scope = in6->sin6_scope_id;
	}
	return 0;
}

DD_API int dd_node_of(struct dd *h, const struct sockaddr *sa, socklen_t len)
{
	struct dd_node_find find;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ret = find_args(&find, sa, len);
	if (!ret)
		ret = ddi_ioctl(h, DD_IOC_NODE_FIND, &find);
	return ret < 0 ? ret : (int)find.node;
}

DD_API int dd_max_nodes(struct dd *h)
{
	if (!ddi_alive(h))
		return -EBADID;
	return ddi_load(&ddi_head(h)->maxnodes);
}

static int info_get(struct dd *h, struct dd_info *info)
{
	*info = (struct dd_info){ .size = sizeof(*info) };
	return ddi_alive(h) ? ddi_error(ddi_ioctl(h, DD_IOC_INFO, info)) : -EBADID;
}

DD_API int dd_pid(struct dd *h)
{
	struct dd_info info;
	int ret = info_get(h, &info);

	return ret < 0 ? ret : (int)info.pid;
}

DD_API int dd_packet_size(struct dd *h)
{
	struct dd_info info;
	int ret = info_get(h, &info);

	return ret < 0 ? ret : (int)info.packet_size;
}
