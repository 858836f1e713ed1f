/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the kernel that transport*.c and wire.c use, for user space. The
 * headers in linux/ replace the kernel's.
 */
#ifndef _DD_USER_H
#define _DD_USER_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include_next <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

#define __maybe_unused		__attribute__((__unused__))
#ifndef __packed
#define __packed		__attribute__((__packed__))
#endif
#define U16_MAX			UINT16_MAX
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define struct_size(p, m, n)	(sizeof(*(p)) + sizeof(*(p)->m) * (n))
#define container_of(p, type, m) \
	((type *)((char *)(p) - offsetof(type, m)))

#define cpu_to_le16(x)		htole16(x)
#define cpu_to_le32(x)		htole32(x)
#define cpu_to_le64(x)		htole64(x)
#define le16_to_cpu(x)		le16toh(x)
#define le32_to_cpu(x)		le32toh(x)
#define le64_to_cpu(x)		le64toh(x)

static inline void memset16(u16 *p, u16 v, size_t n)
{
	while (n--)
		*p++ = v;
}

#define min(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); \
	_a < _b ? _a : _b; })
#define max(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); \
	_a > _b ? _a : _b; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define clamp(x, lo, hi)	min(max(x, lo), hi)
#define clamp_t(t, x, lo, hi)	clamp((t)(x), (t)(lo), (t)(hi))

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *s = p;

	for (; n; n--, s++) {
		if (*s != (u8)c)
			return (void *)s;
	}
	return NULL;
}

/* ---- lists -------------------------------------------------------------- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline bool list_is_last(const struct list_head *l,
				const struct list_head *head)
{
	return l->next == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline void list_between(struct list_head *n, struct list_head *prev,
				struct list_head *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

static inline void list_add(struct list_head *n, struct list_head *l)
{
	list_between(n, l, l->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *l)
{
	list_between(n, l->prev, l);
}

/* Uses after this fault, as in the kernel. */
static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->next = NULL;
	n->prev = NULL;
}

static inline void list_del_init(struct list_head *n)
{
	list_del(n);
	INIT_LIST_HEAD(n);
}

static inline void list_replace_init(struct list_head *old, struct list_head *n)
{
	list_add(n, old);
	list_del_init(old);
}

static inline void list_move(struct list_head *n, struct list_head *head)
{
	list_del(n);
	list_add(n, head);
}

static inline void list_move_tail(struct list_head *n, struct list_head *l)
{
	list_del(n);
	list_add_tail(n, l);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	while (!list_empty(from))
		list_move_tail(from->next, to);
}

#define list_is_first(n, l)		((l)->next == (n))
#define list_entry(p, type, m)		container_of(p, type, m)
#define list_first_entry(l, type, m)	list_entry((l)->next, type, m)
#define list_last_entry(l, type, m)	list_entry((l)->prev, type, m)
#define list_first_entry_or_null(l, type, m) \
	(list_empty(l) ? NULL : list_first_entry(l, type, m))
#define list_next_entry(pos, m)	list_entry((pos)->m.next, typeof(*(pos)), m)
#define list_for_each_entry(p, l, m) \
	for (p = list_entry((l)->next, __typeof__(*p), m); &p->m != (l); \
	     p = list_entry(p->m.next, __typeof__(*p), m))
#define list_for_each_entry_reverse(p, l, m) \
	for (p = list_entry((l)->prev, __typeof__(*p), m); &p->m != (l); \
	     p = list_entry(p->m.prev, __typeof__(*p), m))
#define list_for_each_entry_safe(p, n, l, m) \
	for (p = list_entry((l)->next, __typeof__(*p), m), \
	     n = list_entry(p->m.next, __typeof__(*p), m); &p->m != (l); \
	     p = n, n = list_entry(n->m.next, __typeof__(*n), m))

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

static inline void INIT_HLIST_HEAD(struct hlist_head *h)
{
	h->first = NULL;
}

static inline void INIT_HLIST_NODE(struct hlist_node *n)
{
	n->next = NULL;
	n->pprev = NULL;
}

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	n->pprev = &h->first;
	if (n->next)
		n->next->pprev = &n->next;
	h->first = n;
}

/* Like list_del(), for hash lists. */
static inline void hlist_del(struct hlist_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	INIT_HLIST_NODE(n);
}

static inline void hlist_del_init(struct hlist_node *n)
{
	if (n->pprev)
		hlist_del(n);
}

#define hlist_entry_safe(p, type, m) \
	((p) ? container_of(p, type, m) : NULL)
#define hlist_for_each_entry_safe(p, n, h, m) \
	for (p = hlist_entry_safe((h)->first, __typeof__(*p), m); \
	     p && (n = p->m.next, true); \
	     p = hlist_entry_safe(n, __typeof__(*p), m))

/* ---- hashes ------------------------------------------------------------- */

typedef struct {
	u64 key[2];
} siphash_key_t;

/* Mix all bits. */
u64 hash_u64(u64 x);
u64 siphash_2u64(u64 a, u64 b, const siphash_key_t *key);
u32 crc32c(u32 crc, const void *p, size_t len);

#endif /* _DD_USER_H */
