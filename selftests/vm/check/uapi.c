// SPDX-License-Identifier: GPL-2.0-only
/*
 * Structures shared with the kernel have the same layout for both word sizes. This
 * file is only compiled, as C and C++, with -m64 and -m32.
 */
#include <linux/dd_ddp.h>
#include <linux/dd_mem.h>
#include <linux/dd_netlink.h>

#ifdef __cplusplus
#define SIZE(type, size) \
	static_assert(sizeof(struct type) == (size), #type)
#define OFFSET(type, field, offset) \
	static_assert(__builtin_offsetof(struct type, field) == (offset), \
		      #type "." #field)
#else
#define SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type)
#define OFFSET(type, field, offset) \
	_Static_assert(__builtin_offsetof(struct type, field) == (offset), \
		       #type "." #field)
#endif

SIZE(dd_area_head, 128);
SIZE(dd_sqe, 64);
SIZE(dd_request, 72);
SIZE(dd_conn_state, 128);
SIZE(dd_note, 128);
SIZE(dd_list_head, 128);
SIZE(dd_info, 64);
SIZE(dd_region_alloc, 40);
SIZE(dd_buf, 24);
SIZE(dd_serve, 184);
SIZE(dd_connect, 176);
SIZE(dd_conn_info, 144);
SIZE(dd_conn_list, 24);
SIZE(dd_list_info, 16);
SIZE(dd_list_wait, 32);
SIZE(dd_conn_wait, 32);
SIZE(dd_direct, 72);
SIZE(dd_submit, 32);
SIZE(dd_node_find, 32);
SIZE(dd_region_pin, 40);
SIZE(dd_region_check, 24);
SIZE(dd_import_list, 32);
SIZE(dd_region_dirty, 32);
SIZE(dd_region_stored, 16);
SIZE(dd_segment_make, 152);
SIZE(dd_segment_state, 32);
SIZE(dd_segment_ctl, 56);
SIZE(dd_importer, 32);
SIZE(dd_segment_info, 80);
SIZE(dd_import_make, 136);
SIZE(dd_mem_state, 200);
SIZE(dd_list_make, 24);
SIZE(dd_list_record, 32);
SIZE(dd_registrar_call, 112);
SIZE(dd_registrar_answer, 24);
SIZE(dd_ring_state, 128);
SIZE(dd_ring_note, 64);

/* The offset of the last field depends on the sizes of all before it. */
OFFSET(dd_area_head, __reserved, 68);
OFFSET(dd_sqe, meta, 48);
OFFSET(dd_request, sqe, 8);
OFFSET(dd_conn_state, sq, 64);
OFFSET(dd_note, payload, 64);
OFFSET(dd_list_head, __reserved, 72);
OFFSET(dd_info, __reserved, 60);
OFFSET(dd_region_alloc, address, 32);
OFFSET(dd_buf, length, 16);
OFFSET(dd_serve, send_block, 160);
OFFSET(dd_serve, __reserved2, 180);
OFFSET(dd_connect, peer_size, 160);
OFFSET(dd_conn_info, send_window, 140);
OFFSET(dd_conn_list, __reserved, 20);
OFFSET(dd_list_info, users, 12);
OFFSET(dd_list_wait, timeout, 24);
OFFSET(dd_conn_wait, timeout, 24);
OFFSET(dd_direct, __reserved, 68);
OFFSET(dd_submit, error, 28);
OFFSET(dd_node_find, __reserved, 28);
OFFSET(dd_ring_state, need_kick, 12);
OFFSET(dd_ring_state, need_wake, 64);
OFFSET(dd_ring_note, meta, 48);
OFFSET(dd_conn_state, error, 40);
OFFSET(dd_conn_state, ring, 44);
OFFSET(dd_conn_state, type, 62);

/* The cache line that only the program writes. */
OFFSET(dd_list_head, head, 64);
