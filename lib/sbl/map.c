// SPDX-License-Identifier: LGPL-2.1-only
/*
 * map.c - automatic update
 *
 * Copyright (C) 2026 The dd authors
 *
 * The kernel tells which pages of a mapping were stored to. Their words are compared with a twin,
 * a copy of what was sent; those that differ are copied to the twin, marked, and sent from there.
 * That is done by a thread of the library when the kernel reports a store, but at most once in half a
 * millisecond, and by each thread before it sends a message. map_lock is never held while anything
 * waits for a peer: words that cannot be sent now stay marked.
 *
 * Order: a word is not sent before those at lower addresses that were stored earlier. Words are
 * compared in descending order, and sent in ascending order, so if a store was found, the earlier
 * ones to its page are found, too. An earlier store to a lower page may have been made after the
 * kernel was asked, so the kernel is asked again until it reports no lower page. If that does not
 * end soon, all lower pages are compared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "map.h"
#include "order.h"
#include "shared.h"
#include "track.h"

#define PAUSE_NS	500000		/* from one update to the next */
#define FOREVER		UINT64_MAX
#define STUCK_NS	250000		/* at first, while words wait for a peer */
#define STUCK_MAX_NS	50000000
#define TURNS		4		/* how often the kernel is asked for lower pages */
#define PART_WORDS	16384		/* of a request: the kernel copies them */
#define HANDLER_MS	1000		/* how long a handler, and an exit, may wait for a peer */
#define END_MS		10000		/* how long the end of a mapping may, without progress */

#define PER_DOUBLE	2		/* words that are compared at a time */
#define PER_MARKS	64		/* words of a uint64_t of @marks */

/**
 * struct map - a mapping
 * @range: its pages
 * @region: of libdd
 * @proxy: where it is sent to
 * @remote: that of the first word
 * @words: number of words that are sent
 * @notify: DD_PUT_NOTIFY or 0
 * @twin: copy of the pages, with what was sent or is marked
 * @marks: a bit for each word that is to be sent
 * @dirty: a bit for each page that was stored to
 * @marked: number of bits in @marks
 * @error: with which an update has failed; nothing is sent then
 * @size: bytes of @twin, @marks and @dirty, which are one piece of memory
 * @next: in the list
 */
struct map {
	struct sbl_range range;
	int region;
	struct ddi_proxy *proxy;
	const char *remote;
	size_t words;
	unsigned int notify;
	uint64_t *twin;
	uint64_t *marks;
	uint64_t *dirty;
	size_t marked;
	int error;
	size_t size;
	struct map *next;
};

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;	/* of mappings and what follows */
static struct dd *handle;
static struct map *maps;	/* changes with sbl_lock, too */
static unsigned int stuck;	/* mappings that have marked words */
static uint32_t sent;		/* ddi_stores() of what was sent */
static struct ddi_near near;
static bool updating;		/* the thread runs */
unsigned int sbl_maps;

static void lock_maps(void)
{
	ddi_upcall_enter();
	pthread_mutex_lock(&map_lock);
}

static void unlock_maps(void)
{
	pthread_mutex_unlock(&map_lock);
	ddi_upcall_leave();
}

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* ---- what was stored -------------------------------------------------------------- */

static void word_mark(struct map *m, size_t i)
{
	uint64_t bit = 1ull << i % PER_MARKS;

	if (i >= m->words || m->marks[i / PER_MARKS] & bit)
		return;
	m->marks[i / PER_MARKS] |= bit;
	stuck += !m->marked++;
}

/*
 * Acquire: a word at a lower address is loaded later. Two words are loaded as a whole; threads
 * store them meanwhile.
 */
static void page_compare(struct map *m, size_t page)
{
	const uint64_t *now = (const uint64_t *)m->range.addr;
	size_t n = page_size() / sizeof(*now);

	for (size_t i = (page + 1) * n; i-- > page * n;) {
		uint64_t value = ddi_load_acquire(&now[i]);
		const Int32 *new = (const Int32 *)&value, *old = (const Int32 *)&m->twin[i];
		bool changed[PER_DOUBLE] = { new[0] != old[0], new[1] != old[1] };

		if (!changed[0] && !changed[1])
			continue;
		m->twin[i] = value;
		for (int w = 0; w < PER_DOUBLE; w++)
			if (changed[w])
				word_mark(m, i * PER_DOUBLE + w);
	}
}

/* Compare the pages below @top that were stored to. Returns the highest of them, or 0. */
static size_t map_compare(struct map *m, size_t top)
{
	size_t highest = 0;

	if (ddi_dirty(handle, m->region, 0, top * page_size(), m->dirty)) {
		/* No memory: the pages are reported again. */
		while (top-- > 0)
			page_compare(m, top);
		return 0;
	}
	for (size_t i = (top + 63) / 64; i-- > 0;) {
		while (m->dirty[i]) {
			size_t page = 64 * i + 63 - __builtin_clzll(m->dirty[i]);

			m->dirty[i] &= ~(1ull << page % 64);
			page_compare(m, page);
			if (!highest)
				highest = page;
		}
	}
	return highest;
}

static void map_collect(struct map *m)
{
	size_t top = m->range.len / page_size();

	for (int turn = 0; turn < TURNS; turn++) {
		top = map_compare(m, top);
		if (!top)
			return;
	}
	while (top-- > 0)
		page_compare(m, top);
}

/* ---- what is sent ----------------------------------------------------------------- */

/* The first word from @i on that is marked, or is not; @words if there is none. */
static size_t mark_find(const struct map *m, size_t i, bool marked)
{
	uint64_t bits;

	while (i < m->words) {
		bits = m->marks[i / PER_MARKS];
		bits = (marked ? bits : ~bits) >> i % PER_MARKS;
		if (bits) {
			i += __builtin_ctzll(bits);
			break;
		}
		i += PER_MARKS - i % PER_MARKS;
	}
	return i < m->words ? i : m->words;
}

static void marks_clear(struct map *m, size_t i, size_t n)
{
	for (; n; i++, n--, m->marked--)
		m->marks[i / PER_MARKS] &= ~(1ull << i % PER_MARKS);
	stuck -= !m->marked;
}

/* Send @n words of a run, of which @last is the last part: 0 or an error. */
static int64_t part_send(const struct map *m, size_t i, size_t n, bool last)
{
	const struct ddi_request r = {
		.local = (char *)m->twin + i * SBL_WORD, .remote = m->remote + i * SBL_WORD,
		.len = n * SBL_WORD, .near = &near,
		.flags = DD_PUT_COPY | (last ? m->notify : 0),
	};
	int64_t ret = ddi_request_try(m->proxy, &r);

	return ret > 0 ? 0 : ret;
}

/* Nothing is sent any more. */
static void map_fail(struct map *m, int error)
{
	m->error = error;
	if (m->marked)
		stuck--;
	memset(m->marks, 0, (m->words + 7) / 8);
	m->marked = 0;
}

/* Send the marked words as far as that is possible now. */
static void map_send(struct map *m)
{
	size_t i = 0, end, n;
	int64_t ret = m->error;

	while (m->marked && !ret) {
		i = mark_find(m, i, true);
		end = mark_find(m, i, false);
		n = end - i < PART_WORDS ? end - i : PART_WORDS;
		ret = part_send(m, i, n, i + n == end);
		if (!ret)
			marks_clear(m, i, n);
	}
	if (ret && ret != -EBUSY)
		map_fail(m, ret);
}

/*
 * A store that changes nothing: the kernel reports the mapping again. An addition of 0 could be
 * compiled to a load.
 */
static void map_touch(const struct map *m)
{
	Int32 *word = (Int32 *)m->range.addr, value = ddi_load(word);

	while (!__atomic_compare_exchange_n(word, &value, value, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static void map_update(struct map *m)
{
	map_collect(m);
	map_send(m);
	if (m->marked)
		map_touch(m);
}

static struct map *map_of(int region)
{
	struct map *m = maps;

	while (m && m->region != region)
		m = m->next;
	return m;
}

/* Update each mapping that was stored to, once. */
static void maps_update(void)
{
	struct map *m;
	uint32_t now;
	int region = 0;

	if (!maps)
		return;
	now = ddi_stores(handle);
	if (now == sent)
		return;
	while ((region = ddi_stored(handle, region, 0)) > 0) {
		m = map_of(region);
		if (m)
			map_update(m);
	}
	if (!region)
		ddi_store_release(&sent, now);
}

/* ---- when it is sent ------------------------------------------------------------- */

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void *update_thread(void *h)
{
	long pause = PAUSE_NS;
	int ret;

	while ((ret = ddi_stored(h, 0, FOREVER)) > 0 || ret == -EINTR) {
		lock_maps();
		maps_update();
		if (!stuck)
			pause = PAUSE_NS;
		else
			pause = pause == PAUSE_NS ? STUCK_NS : 2 * pause;
		unlock_maps();
		sleep_ns(pause < STUCK_MAX_NS ? pause : STUCK_MAX_NS);
	}
	return NULL;
}

static bool peer_stuck(const struct ddi_peer *peer)
{
	for (const struct map *m = stuck ? maps : NULL; m; m = m->next)
		if (m->marked && m->proxy->peer == peer)
			return true;
	return false;
}

bool sbl_maps_clean(void)
{
	return ddi_load_acquire(&sent) == ddi_stores(handle);
}

int sbl_maps_send(const struct ddi_peer *peer)
{
	int64_t start;
	bool waits;

	if (sbl_maps_clean())
		return 0;
	for (start = now_ms();; sleep_ns(STUCK_NS)) {
		lock_maps();
		maps_update();
		waits = peer_stuck(peer);
		unlock_maps();
		if (!waits)
			return 0;
		/* The peer may wait for this process to handle notifications. */
		if (sbl_in_handler() && now_ms() - start > HANDLER_MS)
			return -EDEADLK;
	}
}

/* ---- fork() and the end of the process ------------------------------------------- */

/* A signal handler that calls fork() may have interrupted the thread that has the lock. */
static DDI_TLS bool locked;

static void before_fork(void)
{
	ddi_upcall_enter();
	locked = ddi_load(&ddi_upcall_depth) > 1 ? !pthread_mutex_trylock(&map_lock) :
						   !pthread_mutex_lock(&map_lock);
	if (locked)
		maps_update();
}

static void after_fork(void)
{
	if (locked)
		pthread_mutex_unlock(&map_lock);
	ddi_upcall_leave();
}

/* Mappings do not exist in the child. It gets ordinary memory with the same contents: the twins. */
static void in_child(void)
{
	for (const struct map *m = maps; m; m = m->next) {
		mremap(m->twin, m->range.len, m->range.len, MREMAP_MAYMOVE | MREMAP_FIXED,
		       m->range.addr);
		munmap(m->marks, m->size - m->range.len);
	}
	pthread_mutex_init(&map_lock, NULL);
	maps = NULL;
	stuck = 0;
	sent = 0;
	sbl_maps = 0;
	updating = false;
	ddi_upcall_leave();
}

/* Stores are sent also if the program returns from main() or calls exit(). */
static void __attribute__((destructor)) at_exit(void)
{
	int64_t start = now_ms();
	bool waits = ddi_load(&sbl_maps);

	while (waits && now_ms() - start < HANDLER_MS) {
		lock_maps();
		maps_update();
		waits = stuck;
		unlock_maps();
		if (waits)
			sleep_ns(PAUSE_NS);
	}
}

/* ---- mappings --------------------------------------------------------------------- */

/* The twin and the bits, page by page. */
static int memory_make(struct map *m)
{
	size_t page = page_size(), pages = m->range.len / page;
	size_t marks = (m->range.len / SBL_WORD + 63) / 64 * 8, dirty = (pages + 63) / 64 * 8;
	void *at;

	m->size = m->range.len + marks + dirty;
	at = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	m->twin = at;
	m->marks = m->twin + m->range.len / sizeof(*m->twin);
	m->dirty = m->marks + marks / sizeof(*m->marks);
	return 0;
}

static int thread_start(void)
{
	static bool watching;

	if (!watching)
		watching = !pthread_atfork(before_fork, after_fork, in_child);
	if (!updating)
		updating = !sbl_thread(update_thread, handle);
	return updating && watching ? 0 : -ENOMEM;
}

/* The caller holds map_lock: the mapping is in the list before the kernel reports it. */
static int map_open(struct map *m)
{
	int ret = thread_start();

	if (!ret)
		ret = memory_make(m);
	if (ret)
		return ret;
	m->region = ddi_track(handle, m->range.addr, m->range.len);
	if (m->region < 0) {
		munmap(m->twin, m->size);
		return m->region;
	}
	memcpy(m->twin, m->range.addr, m->range.len);
	m->next = maps;
	maps = m;
	ddi_store(&sbl_maps, sbl_maps + 1);
	return 0;
}

static int map_new(struct dd *h, char *local, const char *remote, size_t words, int notify)
{
	struct ddi_proxy *proxy = ddi_proxy_find(remote, words * SBL_WORD, SBL_KEY);
	struct map *m;
	int code, ret;

	if (!proxy)
		return SBL_EBadProxyAddr;
	m = calloc(1, sizeof(*m));
	if (!m)
		return SBL_ENoMem;
	m->range.addr = local;
	m->range.len = (words * SBL_WORD + page_size() - 1) & -page_size();
	m->proxy = proxy;
	m->remote = remote;
	m->words = words;
	m->notify = notify ? DD_PUT_NOTIFY : 0;
	code = sbl_range_add(&m->range);
	if (!code) {
		lock_maps();
		handle = h;
		ret = map_open(m);
		unlock_maps();
		code = ret == -EBUSY ? SBL_EOverlappedBufs : sbl_code(ret, SBL_ENoMem);
		if (code)
			sbl_range_del(&m->range);
	}
	if (code)
		free(m);
	return code;
}

static int map_check(const Int32 *local, const Int32 *remote, int nwords)
{
	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!local)
		return SBL_EBadArg;
	if (((uintptr_t)local | (uintptr_t)remote) % SBL_PageSize())
		return SBL_EBadAlignment;
	if (nwords <= 0)
		return SBL_EBadSize;
	return ddi_dest_has(local, nwords * SBL_WORD) ? SBL_EBadArg : SBL_Success;
}

SBL_API int SBL_Map(Int32 *sendBuf, Int32 *proxyBuf, int nwords, int notify)
{
	int code = map_check(sendBuf, proxyBuf, nwords);
	struct dd *h;

	if (!code)
		code = sbl_handle(&h);
	if (code)
		return code;
	sbl_enter();
	code = map_new(h, (char *)sendBuf, (const char *)proxyBuf, nwords, notify);
	sbl_leave();
	return code;
}

SBL_API int SBL_AUMap(Int32 *sendBuf, Int32 *proxyBuf, int nwords, int notify,
		      enum SBL_AUWriteType writeType)
{
	switch (writeType) {
	case AU_BlockWrite:
	case AU_TimerWrite:
		return SBL_Map(sendBuf, proxyBuf, nwords, notify);
	case AU_Disable:
	case AU_SingleWrite:
		return sbl_in_handler() ? SBL_ENotInHandler : SBL_ENotImplemented;
	}
	return sbl_in_handler() ? SBL_ENotInHandler : SBL_EBadArg;
}

/* The memory is as before the mapping. */
static int map_close(struct map *m)
{
	struct map **link = &maps;
	int ret = ddi_untrack(handle, m->range.addr);

	if (ret)
		return ret;
	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	ddi_store(&sbl_maps, sbl_maps - 1);
	stuck -= m->marked > 0;
	munmap(m->twin, m->size);
	return 0;
}

/*
 * Send the last stores of a mapping, and end it: -EAGAIN if they wait for the peer, unless they have
 * done so for long. *@left is the number of words that waited, *@since when that became less.
 */
static int map_end(struct map *m, size_t *left, int64_t *since, int *error)
{
	int ret = -EAGAIN;

	lock_maps();
	map_update(m);
	if (m->marked < *left) {
		*left = m->marked;
		*since = now_ms();
	} else if (now_ms() - *since > END_MS) {
		map_fail(m, -ETIMEDOUT);
	}
	*error = m->error;
	if (!m->marked)
		ret = map_close(m);
	unlock_maps();
	if (!ret) {
		sbl_range_del(&m->range);
		free(m);
	}
	return ret;
}

/* The mapping that begins at @addr, or one to @proxy. */
static struct map *map_find(const char *addr, const struct ddi_proxy *proxy)
{
	struct map *m = maps;

	while (m && (addr ? m->range.addr != addr : m->proxy != proxy))
		m = m->next;
	return m;
}

static int unmap(const char *addr, const struct ddi_proxy *proxy)
{
	size_t left = SIZE_MAX;
	int64_t since = 0;
	int ret, error = 0;
	struct map *m;

	for (;; sleep_ns(STUCK_NS)) {
		sbl_enter();
		m = map_find(addr, proxy);
		ret = m ? map_end(m, &left, &since, &error) : -EINVAL;
		sbl_leave();
		if (ret != -EAGAIN)
			return ret ? sbl_code(ret, SBL_ENoMem) : sbl_send_code(error);
	}
}

bool sbl_mapped_to(const struct ddi_proxy *proxy)
{
	return map_find(NULL, proxy);
}

int sbl_unmap_from(const struct ddi_proxy *proxy)
{
	int code = unmap(NULL, proxy);

	return code == SBL_ENoMem ? code : SBL_Success;
}

SBL_API int SBL_Unmap(Int32 *sendBuf)
{
	if (sbl_in_handler())
		return SBL_ENotInHandler;
	return sendBuf ? unmap((char *)sendBuf, NULL) : SBL_EBadArg;
}
