// SPDX-License-Identifier: GPL-2.0-only
/*
 * Structures of the ioctls: sizes, pointers, flags and reserved fields. A
 * variant is an ioctl, a test is one kind of bad argument.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "mem.h"

union arg {
	__u32 size;
	struct dd_info info;
	struct dd_region_alloc region;
	struct dd_serve serve;
	struct dd_connect connect;
	struct dd_conn_info conn;
	struct dd_conn_list conns;
	struct dd_conn_wait cwait;
	struct dd_list_info list;
	struct dd_list_wait lwait;
	struct dd_direct direct;
	struct dd_submit submit;
	struct dd_region_pin pin;
	struct dd_region_dirty dirty;
	struct dd_region_check check;
	struct dd_region_stored stored;
	struct dd_segment_make segment;
	struct dd_segment_ctl ctl;
	struct dd_segment_info sinfo;
	struct dd_import_make import;
	struct dd_import_list ilist;
	struct dd_list_make make;
	struct dd_node_find find;
};

FIXTURE(arg) {
	struct pair p;
	struct mem spare;
	char *page;		/* followed by an unmapped page */
	__u32 lists[2];
	struct dd_request request;
	struct dd_segment_make seg;
	struct dd_import_make imp;
	__u32 tracked;
	__u64 bits;
	union arg a;
	long long used;
};

FIXTURE_VARIANT(arg) {
	unsigned int nr;
	size_t size;
	/* Offsets of __u32 fields that must be zero or known flags. */
	size_t zero[8];
	/* Size that callers without the last members pass; 0: there are none. */
	size_t least;
	__u32 flags;		/* that are defined */
	bool no_result, once;	/* the call succeeds once */
};

#define Z(type, field) offsetof(struct type, field)

FIXTURE_VARIANT_ADD(arg, info) {
	DD_IOC_INFO, sizeof(struct dd_info), {}, Z(dd_info, pid)
};
FIXTURE_VARIANT_ADD(arg, region_alloc) {
	DD_IOC_REGION_ALLOC, sizeof(struct dd_region_alloc),
	{ Z(dd_region_alloc, flags), Z(dd_region_alloc, __reserved), Z(dd_region_alloc, address) },
	Z(dd_region_alloc, address),
	.flags = DD_REGION_TRACK
};
FIXTURE_VARIANT_ADD(arg, serve) {
	DD_IOC_SERVE, sizeof(struct dd_serve),
	{ Z(dd_serve, flags), Z(dd_serve, __reserved), Z(dd_serve, __reserved2),
	  Z(dd_serve, recv.__reserved), Z(dd_serve, send.__reserved) },
	Z(dd_serve, uid),
	.flags = DD_SERVE_FLAGS, .once = true
};
FIXTURE_VARIANT_ADD(arg, connect) {
	DD_IOC_CONNECT, sizeof(struct dd_connect),
	{ Z(dd_connect, flags),
	  Z(dd_connect, recv.__reserved), Z(dd_connect, send.__reserved) },
	Z(dd_connect, timeout),
	.flags = DD_CONNECT_FLAGS, .once = true
};
FIXTURE_VARIANT_ADD(arg, conn_info) {
	DD_IOC_CONN_INFO, sizeof(struct dd_conn_info),
	{ Z(dd_conn_info, __reserved) }
};
FIXTURE_VARIANT_ADD(arg, conn_list) {
	DD_IOC_CONN_LIST, sizeof(struct dd_conn_list),
	{ Z(dd_conn_list, __reserved) }
};
FIXTURE_VARIANT_ADD(arg, conn_wait) {
	DD_IOC_CONN_WAIT, sizeof(struct dd_conn_wait), {}
};
FIXTURE_VARIANT_ADD(arg, list_info) {
	DD_IOC_LIST_INFO, sizeof(struct dd_list_info), {}
};
FIXTURE_VARIANT_ADD(arg, list_wait) {
	DD_IOC_LIST_WAIT, sizeof(struct dd_list_wait),
	{ Z(dd_list_wait, flags) }
};

FIXTURE_VARIANT_ADD(arg, direct) {
	DD_IOC_DIRECT, sizeof(struct dd_direct),
	{ Z(dd_direct, flags), Z(dd_direct, peer_block),
	  Z(dd_direct, __reserved) },
	.flags = DD_DIRECT_DROP
};

FIXTURE_VARIANT_ADD(arg, submit) {
	DD_IOC_SUBMIT, sizeof(struct dd_submit),
	{ Z(dd_submit, flags), Z(dd_submit, taken), Z(dd_submit, error) }
};

FIXTURE_VARIANT_ADD(arg, region_pin) {
	DD_IOC_REGION_PIN, sizeof(struct dd_region_pin),
	{ Z(dd_region_pin, flags), Z(dd_region_pin, offset), Z(dd_region_pin, region),
	  Z(dd_region_pin, __reserved) }
};

FIXTURE_VARIANT_ADD(arg, region_dirty) {
	DD_IOC_REGION_DIRTY, sizeof(struct dd_region_dirty), {},
	.no_result = true
};

FIXTURE_VARIANT_ADD(arg, region_check) {
	DD_IOC_REGION_CHECK, sizeof(struct dd_region_check), {},
	.no_result = true
};

FIXTURE_VARIANT_ADD(arg, region_stored) {
	DD_IOC_REGION_STORED, sizeof(struct dd_region_stored), {}
};

FIXTURE_VARIANT_ADD(arg, import_list) {
	DD_IOC_IMPORT_LIST, sizeof(struct dd_import_list), { Z(dd_import_list, flags) },
	.no_result = true, .once = true
};

FIXTURE_VARIANT_ADD(arg, segment) {
	DD_IOC_SEGMENT, sizeof(struct dd_segment_make),
	{ Z(dd_segment_make, flags), Z(dd_segment_make, segment),
	  Z(dd_segment_make, generation), Z(dd_segment_make, state_unit),
	  Z(dd_segment_make, __reserved) },
	.flags = DD_SEGMENT_FLAGS
};

FIXTURE_VARIANT_ADD(arg, segment_ctl) {
	DD_IOC_SEGMENT_CTL, sizeof(struct dd_segment_ctl),
	{ Z(dd_segment_ctl, uid), Z(dd_segment_ctl, rights), Z(dd_segment_ctl, offset),
	  Z(dd_segment_ctl, length), Z(dd_segment_ctl, region),
	  Z(dd_segment_ctl, __reserved) },
	.no_result = true
};

FIXTURE_VARIANT_ADD(arg, segment_info) {
	DD_IOC_SEGMENT_INFO, sizeof(struct dd_segment_info),
	{ Z(dd_segment_info, count), Z(dd_segment_info, importers),
	  Z(dd_segment_info, __reserved) }
};

FIXTURE_VARIANT_ADD(arg, import) {
	DD_IOC_IMPORT, sizeof(struct dd_import_make),
	{ Z(dd_import_make, flags), Z(dd_import_make, state_unit),
	  Z(dd_import_make, import), Z(dd_import_make, length),
	  Z(dd_import_make, generation), Z(dd_import_make, list),
	  Z(dd_import_make, uid), Z(dd_import_make, __reserved) },
	Z(dd_import_make, uid),
	.flags = DD_IMPORT_NOWAIT | DD_IMPORT_UID | DD_IMPORT_MAY
};

FIXTURE_VARIANT_ADD(arg, list_make) {
	DD_IOC_LIST_MAKE, sizeof(struct dd_list_make),
	{ Z(dd_list_make, flags), Z(dd_list_make, list), Z(dd_list_make, list_unit),
	  Z(dd_list_make, serial) }
};

FIXTURE_VARIANT_ADD(arg, node_find) {
	DD_IOC_NODE_FIND, sizeof(struct dd_node_find),
	{ Z(dd_node_find, node), Z(dd_node_find, __reserved) }
};

/* Fills self->a with valid arguments, for the server's context. */
static void fill(FIXTURE_DATA(arg) *self, const FIXTURE_VARIANT(arg) *variant)
{
	union arg *a = &self->a;

	memset(a, 0, sizeof(*a));
	self->lists[0] = self->p.s.list;
	switch (variant->nr) {
	case DD_IOC_REGION_ALLOC:
		a->region.length = 8192;
		break;
	case DD_IOC_SERVE:
		raw_serve_args(&a->serve, "abi_struct", 1, &self->spare);
		break;
	case DD_IOC_CONNECT:
		raw_connect_args(&a->connect, self->p.name, &self->spare);
		break;
	case DD_IOC_CONN_INFO:
		a->conn.conn = pair_server_conn(&self->p);
		break;
	case DD_IOC_CONN_LIST:
		a->conns.service = self->p.s.service;
		break;
	case DD_IOC_CONN_WAIT:
		a->cwait.conn = pair_server_conn(&self->p);
		break;
	case DD_IOC_LIST_INFO:
		a->list.list = self->p.s.list;
		break;
	case DD_IOC_LIST_WAIT:
		a->lwait.lists = (uintptr_t)self->lists;
		a->lwait.count = 1;
		break;
	case DD_IOC_DIRECT:
		a->direct.conn = pair_server_conn(&self->p);
		break;
	case DD_IOC_SUBMIT:
		/* Without a note it can be sent any number of times. */
		self->request = (struct dd_request){
			.conn = pair_server_conn(&self->p),
			.sqe = { .opcode = DD_OP_PUT },
		};
		a->submit.requests = (uintptr_t)&self->request;
		a->submit.count = 1;
		a->submit.stride = sizeof(self->request);
		break;
	case DD_IOC_REGION_PIN:
		a->pin.address = (uintptr_t)self->page + 2 * PAGE;
		a->pin.length = PAGE;
		break;
	case DD_IOC_REGION_DIRTY:
		a->dirty.region = self->tracked;
		a->dirty.length = PAGE;
		a->dirty.bitmap = (uintptr_t)&self->bits;
		break;
	case DD_IOC_REGION_CHECK:
		a->check.region = self->spare.id;
		a->check.address = (uintptr_t)self->spare.at;
		a->check.length = PAGE;
		break;
	case DD_IOC_SEGMENT:
		a->segment = mem_segment(&self->spare, "");
		a->segment.key_class = DD_SEGMENT_ID;
		break;
	case DD_IOC_SEGMENT_CTL:
		a->ctl.segment = self->seg.segment;
		a->ctl.what = DD_SEGMENT_INHIBIT;
		break;
	case DD_IOC_SEGMENT_INFO:
		a->sinfo.segment = self->seg.segment;
		break;
	case DD_IOC_IMPORT:
		a->import.node = ((struct dd_area_head *)self->p.srv.area)->node;
		a->import.key_class = DD_SEGMENT_ID;
		a->import.rights = DD_RIGHTS;
		memcpy(a->import.key, self->seg.key, sizeof(a->import.key));
		break;
	case DD_IOC_NODE_FIND:
		/* ::ffff:127.0.0.1 */
		memcpy(a->find.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16);
		break;
	case DD_IOC_IMPORT_LIST:
		a->ilist.import = self->imp.import;
		a->ilist.list = self->p.s.list;
		break;
	}
	a->size = variant->size;
}

FIXTURE_SETUP(arg)
{
	char *at;

	/* A user of this test's own: no other test changes its charge. */
	ASSERT_EQ(0, become_user(lone_user()));
	ASSERT_EQ(0, pair_open(&self->p, 4, 4096, 1));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	ASSERT_EQ(0, raw_alloc(&self->p.srv, 4 * PAGE, &self->spare));
	memset(&self->a, 0, sizeof(self->a));
	self->a.region = (struct dd_region_alloc){
		.size = sizeof(self->a.region), .flags = DD_REGION_TRACK, .length = PAGE };
	ASSERT_EQ(0, raw_ioctl(&self->p.srv, DD_IOC_REGION_ALLOC, &self->a));
	self->tracked = self->a.region.region;
	at = raw_map(&self->p.srv, self->a.region.offset, PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, at);
	/* For DD_IOC_REGION_STORED. */
	*at = 1;
	self->page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	ASSERT_EQ(0, munmap(self->page + PAGE, PAGE));
	self->seg = mem_segment(&self->spare, "");
	self->seg.key_class = DD_SEGMENT_ID;
	self->seg.importers = 100;
	ASSERT_EQ(0, mem_export(&self->p.srv, &self->seg));
	ASSERT_EQ(0, mem_import(&self->p.srv, &self->seg, DD_RIGHTS, &self->imp));
	self->used = memlock_used(&self->p.srv);
	fill(self, variant);
}

FIXTURE_TEARDOWN(arg)
{
	pair_close(&self->p);
}

static int call(FIXTURE_DATA(arg) *self, const FIXTURE_VARIANT(arg) *variant,
		const void *arg)
{
	return raw_ioctl(&self->p.srv, variant->nr, arg);
}

/*
 * The failed calls have created nothing: the same call succeeds now, and the
 * charge, which a worker returns, is back where it was.
 */
#define EXPECT_UNCHANGED() do {						\
	EXPECT_TRUE(WAIT_FOR(self->used == memlock_used(&self->p.srv)));	\
	fill(self, variant);						\
	EXPECT_EQ(0, call(self, variant, &self->a)) {			\
		TH_LOG("errno %d", errno);				\
	}								\
	EXPECT_EQ(variant->size, self->a.size);				\
} while (0)

TEST_F(arg, short_sizes)
{
	size_t size, least = variant->least ? : variant->size;

	for (size = 0; size < least; size++) {
		self->a.size = size;
		EXPECT_ERR(EINVAL, call(self, variant, &self->a));
	}
	EXPECT_UNCHANGED();
}

/* With zeroes behind it, and then only, a longer one is valid. */
TEST_F(arg, longer_sizes)
{
	static const __u32 sizes[] = { 8192, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff };
	char *at = self->page;
	int i;

	memcpy(at, &self->a, variant->size);
	for (i = 0; i < 5; i++) {
		*(__u32 *)at = sizes[i];
		EXPECT_EQ(-1, call(self, variant, at));
		EXPECT_TRUE(errno == E2BIG || errno == EFAULT || errno == EINVAL) {
			TH_LOG("size %x: errno %d", sizes[i], errno);
		}
	}
	for (i = 0; i < 64; i++) {
		fill(self, variant);
		self->a.size = variant->size + 64;
		memset(at, 0, PAGE);
		memcpy(at, &self->a, variant->size);
		at[variant->size + i] = 1 << i % 8;
		EXPECT_ERR(E2BIG, call(self, variant, at));
	}
	EXPECT_TRUE(WAIT_FOR(self->used == memlock_used(&self->p.srv)));
	memset(at + variant->size, 0, 64);
	EXPECT_EQ(0, call(self, variant, at)) {
		TH_LOG("errno %d", errno);
	}
}

TEST_F(arg, arguments_that_cannot_be_read)
{
	size_t cut;
	char *at;

	EXPECT_ERR(EFAULT, call(self, variant, NULL));
	EXPECT_ERR(EFAULT, call(self, variant, (void *)8));
	EXPECT_ERR(EFAULT, call(self, variant, self->page + PAGE));
	EXPECT_ERR(EFAULT, call(self, variant, (void *)-8l));
	EXPECT_ERR(EFAULT, call(self, variant, (void *)0xffff888000000000));
	EXPECT_ERR(EFAULT, call(self, variant, (void *)0xffffffffff600000));
	/* Across the end of a page. */
	for (cut = 1; cut < variant->size; cut++) {
		at = self->page + PAGE - cut;
		memcpy(at, &self->a, cut);
		EXPECT_ERR(EFAULT, call(self, variant, at));
	}
	EXPECT_UNCHANGED();
	/* An argument that ends with the page is valid. */
	fill(self, variant);
	if (variant->once)
		return;
	at = self->page + PAGE - variant->size;
	memcpy(at, &self->a, variant->size);
	EXPECT_EQ(0, call(self, variant, at));
}

TEST_F(arg, results_that_cannot_be_stored)
{
	int i;

	memcpy(self->page, &self->a, variant->size);
	ASSERT_EQ(0, mprotect(self->page, PAGE, PROT_READ));
	if (variant->no_result) {
		EXPECT_EQ(0, call(self, variant, self->page));
		return;
	}
	EXPECT_ERR(EFAULT, call(self, variant, self->page));
	/* A block keeps its last serving end: let each of the four have one. */
	if (variant->nr == DD_IOC_CONNECT)
		for (i = 0; i < 4; i++)
			EXPECT_ERR(EFAULT, call(self, variant, self->page));
	/* The same ring, or block, would be given again: nothing to compare. */
	if (variant->nr == DD_IOC_DIRECT || variant->nr == DD_IOC_CONNECT)
		self->used = memlock_used(&self->p.srv);
	EXPECT_ERR(EFAULT, call(self, variant, self->page));
	EXPECT_UNCHANGED();
}

TEST_F(arg, flags_and_reserved_fields)
{
	int i, bit;

	for (i = 0; i < 8 && variant->zero[i]; i++)
		for (bit = 0; bit < 32; bit++) {
			if (variant->zero[i] == 4 && variant->flags & 1u << bit)
				continue;
			fill(self, variant);
			*(__u32 *)((char *)&self->a + variant->zero[i]) =
				1u << bit;
			EXPECT_ERR(EINVAL, call(self, variant, &self->a));
		}
	EXPECT_UNCHANGED();
}

DD_TEST_MAIN
