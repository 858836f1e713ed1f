// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kernel/cluster and the objects of kernel/core that it uses need of the rest of the
 * kernel. Functions that no scenario calls are missing: the linker lets a call of one crash.
 */
#include "core/completion.h"
#include "core/registrar.h"
#include "core/window.h"
#include "mem.h"

struct boot *boot_now;
long kernel_objects;
struct workqueue_struct *dd_wq;
static struct task_struct task;
struct task_struct *current = &task;
static struct user_struct user;
static const struct cred cred = { .user = &user };

/* ---- memory and time ------------------------------------------------------ */

void *kzalloc(size_t size, gfp_t gfp)
{
	kernel_objects++;
	return sim_alloc(size);
}

void kfree(const void *p)
{
	kernel_objects -= !!p;
	free((void *)p);
}

static void free_now(void *arg, u64 gen)
{
	kfree(arg);
}

void kfree_later(void *p)
{
	sim_at(sim.now + US, free_now, p, 0);
}

static void rcu_over(void *arg, u64 gen)
{
	struct rcu_head *rcu = arg;

	rcu->func(rcu);
}

void call_rcu(struct rcu_head *rcu, void (*func)(struct rcu_head *rcu))
{
	rcu->func = func;
	sim_at(sim.now + US, rcu_over, rcu, 0);
}

void init_work(struct work_struct *work, void (*func)(struct work_struct *work))
{
	work->func = func;
	work->boot = boot_now;
	work->pending = false;
}

static void work_run(void *arg, u64 gen)
{
	struct work_struct *work = arg;
	struct boot *b = work->boot;

	if (b->dead)
		return;
	work->pending = false;
	work->func(work);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	if (work->pending)
		return false;
	work->pending = true;
	sim_at(sim.now + sim_below(50 * US), work_run, work, 0);
	return true;
}

/* An event cannot be withdrawn: it holds a pointer to the work, or NULL. */
static void delayed_run(void *arg, u64 gen)
{
	struct delayed_work **event = arg, *work = *event;

	free(event);
	if (!work)
		return;
	work->event = NULL;
	work_run(&work->work, 0);
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay)
{
	if (work->work.pending)
		return false;
	work->work.pending = true;
	work->event = malloc(sizeof(work->event));
	*work->event = work;
	sim_at(sim.now + delay * MS + sim_below(50 * US), delayed_run, work->event, 0);
	return true;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay)
{
	bool was = work->work.pending;

	if (work->event)
		*work->event = NULL;
	work->work.pending = false;
	queue_delayed_work(wq, work, delay);
	return was;
}

u64 get_random_u64(void)
{
	return sim_random();
}

u64 ktime_get_ns(void)
{
	return sim.now;
}

/* ---- payloads --------------------------------------------------------------- */

void dd_udp_copy(struct dd_udp_peer *link, const void *payload, u32 off, void *dst, u32 len)
{
	memcpy(dst, payload_at(payload, off, len), len);
}

u32 dd_udp_copy_batch(struct dd_udp_peer *link, const void *payload,
		      struct dd_tp_rx_batch *batch, void **pages, u32 at, bool single)
{
	struct payload pl = *(const struct payload *)payload;
	const u8 *p;
	u32 i, n = 0;

	while ((p = payload_next(&pl, batch)))
		for (i = 0; i < batch->plen; i++, n++, at++)
			((u8 *)pages[at >> PAGE_SHIFT])[offset_in_page(at)] = p[i];
	return n;
}

/* The payload of a packet; its source may consist of several pages. */
const u8 *mem_source(struct end *e, const struct dd_tp_pkt *pkt)
{
	static u8 buf[65536];
	u32 n, done = 0;

	while (done < pkt->len) {
		const void *from = dd_remote_source(&e->link, pkt->op, pkt->off + done, &n);

		n = min(n, pkt->len - done);
		memcpy(buf + done, from, n);
		done += n;
	}
	return buf;
}

/* ---- objects, charges, and the area ------------------------------------------- */

static struct boot *boot_of(const struct dd_ctx *ctx)
{
	return container_of(ctx, struct boot, ctx);
}

void dd_obj_init(struct dd_obj *obj, struct dd_ctx *ctx, const struct dd_obj_ops *ops)
{
	obj->ctx = dd_ctx_get(ctx);
	obj->ops = ops;
	refcount_set(&obj->users, 1);
}

int dd_obj_reserve(struct dd_obj *obj)
{
	struct boot *b = boot_of(obj->ctx);

	if (b->nobjs == OBJECTS)
		sim_fail("too many objects");
	obj->id = b->nobjs++;
	return 0;
}

void dd_obj_publish(struct dd_obj *obj)
{
	boot_of(obj->ctx)->objs[obj->id] = obj;
}

bool dd_obj_remove(struct dd_obj *obj)
{
	return xchg(&boot_of(obj->ctx)->objs[obj->id], NULL) == obj;
}

/* Called for regions. */
void *dd_obj_get(struct dd_ctx *ctx, u32 id, const struct dd_obj_ops *ops)
{
	struct boot *b = boot_of(ctx);
	struct dd_obj *obj = id == REGION_ASIDE ? &b->aside.obj : &b->region.obj;

	refcount_inc(&obj->users);
	return obj;
}

void *dd_obj_get_serial(struct dd_ctx *ctx, u64 serial, const struct dd_obj_ops *ops)
{
	struct dd_obj *obj = boot_of(ctx)->objs[lower_32_bits(serial)];

	if (!obj || obj->ops != ops)
		return NULL;
	refcount_inc(&obj->users);
	return obj;
}

void dd_ctx_put(struct dd_ctx *ctx)
{
	refcount_dec(&ctx->ref);
}

void dd_ctx_wake(struct dd_ctx *ctx)
{
	mem_wake(boot_of(ctx));
}

/* Pieces are not reused, so that a late store to a connection state is not hidden. */
int dd_area_alloc_piece(struct dd_area *area, u32 units, u32 *unit)
{
	u32 index = ++area->hint;

	*unit = index * DD_PAGE_UNITS;
	if (!area->chunks[index / DD_CHUNK_PAGES])
		area->chunks[index / DD_CHUNK_PAGES] =
			sim_alloc(DD_CHUNK_PAGES * sizeof(void *));
	area->chunks[index / DD_CHUNK_PAGES][index % DD_CHUNK_PAGES] =
		sim_alloc(units * DD_UNIT);
	return 0;
}

int dd_area_alloc(struct dd_area *area, u32 units, u32 *unit)
{
	return dd_area_alloc_piece(area, units, unit);
}

void dd_area_free(struct dd_area *area, u32 unit, u32 units)
{
}

/* ---- the list of a node: large enough for all notes, and none is withheld ------------ */

#define LIST_ORDER	10
#define LIST_PAGES	(DD_UNIT << LIST_ORDER >> PAGE_SHIFT)

static void list_init(struct boot *b)
{
	struct dd_list *list = &b->list;
	u32 i, unit, first;

	list->obj.ctx = &b->ctx;
	refcount_set(&list->obj.users, 1);
	dd_area_alloc_piece(&b->ctx.area, 1, &unit);
	list->head = dd_area_unit(&b->ctx.area, unit);
	/* Consecutive pieces. */
	for (i = 0; i < LIST_PAGES; i++) {
		dd_area_alloc_piece(&b->ctx.area, DD_PAGE_UNITS, &unit);
		first = i ? first : unit;
	}
	list->geometry = dd_geometry(first, LIST_ORDER);
}

bool list_take(struct boot *b, struct dd_note *n)
{
	struct dd_list_head *head = b->list.head;
	const struct dd_note *slot;

	slot = dd_area_unit(&b->ctx.area, dd_slot_unit(b->list.geometry, head->head));
	if (slot->seq < head->head + 1)
		return false;
	if (slot->seq > head->head + 1)
		sim_fail("a note that was not read has been replaced");
	*n = *slot;
	head->head++;
	return true;
}

struct dd_list *dd_list_attach(struct dd_ctx *ctx, u32 id, bool must, u32 slots, u32 space)
{
	struct dd_list *list = &boot_of(ctx)->list;

	refcount_inc(&list->obj.users);
	return list;
}

int dd_list_reserve(struct dd_list *list, u32 slots, u32 users)
{
	return 0;
}

void dd_list_detach(struct dd_list *list, u32 slots, u64 last)
{
	dd_list_put(list);
}

/* No import has one. */
void dd_window_revoke(struct dd_window *win)
{
}

static void on_event(struct dd_obj *obj, bool begin)
{
}

static const struct dd_event_ops events = { .object = on_event };
const struct dd_event_ops *dd_events = &events;
const struct dd_obj_ops dd_region_ops;

/* No region is freed. */
bool dd_region_use(struct dd_region *region)
{
	return true;
}

void dd_region_unuse(struct dd_region *region)
{
}

void dd_region_put_later(struct dd_region *region)
{
	dd_region_put(region);
}

void region_init(struct dd_region *region, struct boot *b, u32 pages)
{
	region->obj.ctx = &b->ctx;
	refcount_set(&region->obj.users, 1);
	region->kind = DD_REGION_PINNED;
	region->npages = pages;
	region->pages = sim_alloc(pages * sizeof(void *));
	while (pages--) {
		region->pages[pages] = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
		memset(region->pages[pages], 0, PAGE_SIZE);
	}
}

struct boot *boot_new(int number, u32 pages)
{
	struct boot *b = sim_alloc(sizeof(*b));

	b->number = number;
	b->nobjs = 1;
	b->node.id = number + 1;
	b->node.up = true;
	dd_names_init(&b->node);
	b->ctx.node = &b->node;
	b->ctx.cred = &cred;
	refcount_set(&b->ctx.ref, 1);
	region_init(&b->region, b, pages);
	region_init(&b->aside, b, pages);
	list_init(b);
	return b;
}

/* ---- completions: no import has any ---------------------------------------------- */

void dd_completions_end(struct dd_import *imp)
{
}

void dd_completions_free(struct dd_import *imp)
{
}

/* ---- users and peers --------------------------------------------------------------- */

u32 dd_ctx_pid(const struct dd_ctx *ctx, struct pid_namespace *ns)
{
	return 1;
}

struct dd_peer *dd_peer_get(const struct dd_node *node, u32 number)
{
	struct dd_peer *peer = end_get(node->id - 1, number - 1)->link.peer;

	refcount_inc(&peer->ref);
	return peer;
}

void dd_peer_put(struct dd_peer *peer)
{
	refcount_dec(&peer->ref);
}
