// SPDX-License-Identifier: LGPL-2.1-only
/*
 * import.c - imports of segments, and their windows
 *
 * Copyright (C) 2026 The dd authors
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "import.h"
#include "open.h"

static void window_open(struct dd_mem *m)
{
	struct dd_direct d = { .size = sizeof(d), .conn = m->serial };
	int put = m->rights & DD_CAN_PUT ? PROT_WRITE : 0;

	if (!m->h->direct || ddi_ioctl(m->h, DD_IOC_DIRECT, &d) < 0)
		return;
	m->window_size = d.block_size;
	m->window[0] = ddi_map(m->h, d.block, d.block_size, PROT_READ | put);
	if (d.notes)
		m->window[1] = ddi_map(m->h, d.notes, d.block_size, PROT_READ | PROT_WRITE);
	/* Release: a thread that sees a window sees @size. */
	if (m->window[0] && put)
		ddi_store_release(&m->put, (char *)m->window[0] + d.start);
	if (m->window[0])
		ddi_store_release(&m->get, (char *)m->window[0] + d.start);
	if (m->window[1])
		ddi_store_release(&m->cas, (char *)m->window[1] + d.start);
}

/* The import is made. Without windows, requests go by the kernel. */
static void mem_up(struct dd_mem *m, uint64_t size)
{
	m->rights = ddi_load(&((const struct dd_mem_state *)m->cs)->rights);
	ddi_store_release(&m->size, size);
	if (!m->result)
		window_open(m);
}

/* A child of fork() does not inherit them, and may have other memory there. */
static void window_close(struct dd_mem *m)
{
	for (int i = 0; i < 2; i++)
		if (m->window[i])
			munmap(m->window[i], m->window_size);
}

/* The handle is being shut down: a window would keep the device open. */
static void mem_release(struct dd *h)
{
	struct dd_mem *m;

	while ((m = h->mems)) {
		h->mems = m->next;
		window_close(m);
		free(m);
	}
}

static void mem_insert(struct dd_mem *m)
{
	struct dd *h = m->h;

	pthread_mutex_lock(&h->lock);
	m->link = &h->mems;
	m->next = h->mems;
	ddi_at_shutdown(h, mem_release);
	if (m->next)
		m->next->link = &m->next;
	h->mems = m;
	pthread_mutex_unlock(&h->lock);
}

static void mem_remove(struct dd_mem *m)
{
	pthread_mutex_lock(&m->h->lock);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	pthread_mutex_unlock(&m->h->lock);
}

DD_API int dd_import_begin(struct dd *h, const struct dd_import_attr *attr,
			   struct dd_mem **mem)
{
	struct dd_import_make i = { .size = sizeof(i) };
	struct dd_mem_state *cs;
	struct dd_mem *m;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!attr || !mem || attr->size != sizeof(*attr) || attr->flags & DD_IMPORT_NOWAIT)
		return -EINVAL;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	i.flags = attr->flags & ~DD_IMPORT_BLOCK;
	if (attr->key_class != DD_KEY_REGISTERED && !(attr->flags & DD_IMPORT_BLOCK))
		i.flags |= DD_IMPORT_NOWAIT;
	i.node = attr->node;
	i.key_class = attr->key_class;
	memcpy(i.key, attr->key, sizeof(i.key));
	i.rights = attr->rights;
	i.depth = attr->depth;
	i.list = attr->list;
	i.cookie = attr->cookie;
	i.uid = attr->uid;
	ret = ddi_ioctl(h, DD_IOC_IMPORT, &i);
	if (ret < 0) {
		free(m);
		return ret;
	}
	cs = ddi_unit(h, i.state_unit);
	*m = (struct dd_mem){ .h = h, .serial = i.import, .rights = i.rights, .node = i.node,
		.cs = &cs->cs, .head = ddi_head(h), .lock = PTHREAD_MUTEX_INITIALIZER };
	/* A registrar may have found the segment on another node than that of @attr. */
	if (m->node != dd_node(h)) {
		m->result = cs->result;
		/* Without it the kernel pins the memory of each result. */
		if (dd_alloc(h, sizeof(uint64_t), &m->word))
			m->word = NULL;
	}
	if (i.length)
		mem_up(m, i.length);
	mem_insert(m);
	*mem = m;
	return 0;
}

/* A signal handler may use the import. */
void ddi_mem_lock(struct dd_mem *m, sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	pthread_mutex_lock(&m->lock);
}

void ddi_mem_unlock(struct dd_mem *m, const sigset_t *before)
{
	pthread_mutex_unlock(&m->lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

DD_API int dd_import_wait(struct dd_mem *m, int64_t timeout)
{
	sigset_t before;
	int ret;

	if (!m)
		return -EINVAL;
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	if (timeout < -1)
		return -EINVAL;
	ret = ddi_await(m->h, m->serial, DD_WAIT_UP, 0, timeout);
	if (ret)
		return ret;
	ddi_mem_lock(m, &before);
	if (!m->size)
		mem_up(m, ddi_load(&m->cs->peer_size));
	ddi_mem_unlock(m, &before);
	return 0;
}

DD_API int dd_import(struct dd *h, int node, unsigned int key_class, const void *key,
		     unsigned int rights, struct dd_mem **mem)
{
	struct dd_import_attr attr = { .size = sizeof(attr), .node = node,
				       .key_class = key_class, .rights = rights };
	struct dd_mem *m;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!key || !mem)
		return -EINVAL;
	memcpy(attr.key, key, sizeof(attr.key));
	ret = dd_import_begin(h, &attr, &m);
	if (ret)
		return ret;
	/* Not without limit: the kernel ends an import that its node does not answer. */
	while (!m->size && (ret = dd_import_wait(m, DD_FOREVER)) == -EINTR)
		;
	if (ret)
		dd_unimport(m);
	else
		*mem = m;
	return ret;
}

DD_API int dd_import_list(struct dd_mem *m, int list, unsigned int depth, uint64_t cookie)
{
	struct dd_import_list l = { .size = sizeof(l), .cookie = cookie, .list = list,
				    .depth = depth };

	if (!m)
		return -EINVAL;
	if (!ddi_alive(m->h))
		return -ESTALE;
	l.import = m->serial;
	return ddi_ioctl(m->h, DD_IOC_IMPORT_LIST, &l);
}

DD_API int dd_unimport(struct dd_mem *m)
{
	int ret = -ESTALE;

	if (!m)
		return -EINVAL;
	if (ddi_alive(m->h)) {
		/* A signal ends only the wait for requests under way, and leaves the import. */
		do {
			ret = ddi_ioctl_conn(m->h, DD_IOC_END, m->serial);
		} while (ret == -EINTR);
		mem_remove(m);
		window_close(m);
		if (m->word)
			dd_free(m->h, m->word);
	}
	free(m);
	return ret;
}

DD_API size_t dd_mem_size(const struct dd_mem *m)
{
	return ddi_load(&m->size);
}

DD_API int dd_mem_rights(const struct dd_mem *m)
{
	if (!m)
		return -EINVAL;
	if (!ddi_alive(m->h))
		return -ESTALE;
	return ddi_load(&m->size) ? (int)m->rights : -EAGAIN;
}

DD_API int dd_mem_uid(const struct dd_mem *m, unsigned int *uid)
{
	if (!m || !uid)
		return -EINVAL;
	if (!ddi_alive(m->h))
		return -ESTALE;
	if (!ddi_load(&m->size))
		return -EAGAIN;
	*uid = ((const struct dd_mem_state *)m->cs)->uid;
	return 0;
}

DD_API int dd_mem_key(const struct dd_mem *m, void *key)
{
	uint64_t generation = htole64(ddi_load(&m->cs->received));

	memset(key, 0, DD_KEY_SIZE);
	memcpy(key, &generation, sizeof(generation));
	return m->node;
}
