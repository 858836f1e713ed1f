// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_export.c - what an exporter can do by the calls of dd_mem.h: control and describe its
 * segments, redirect messages, and find changed pages. What the kernel does then is tested by
 * abi_redir, abi_track, abi_read and abi_mem.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

static struct dd_export_desc info(void)
{
	struct dd_export_desc desc = { 0 };

	check_eq(dd_export_info(ex, segment, &desc, NULL, 0), 0);
	return desc;
}

TEST(an_exporter_sees_its_importers)
{
	struct dd_export_importer two[2] = { { 0 } };
	struct dd_export_desc desc;
	struct dd_mem *second;

	begin(0, 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), 1);
	check_eq(desc.len, PAGE);
	check_eq(desc.importers, 1);
	check_eq(desc.inhibited, 0);
	check_eq(desc.notify, DD_NOTIFY_NEVER);
	check_eq(two[0].node, dd_node(im));
	check_eq(two[0].pid, getpid());
	check_eq(two[0].uid, geteuid());
	check_eq(two[0].rights, ALL);
	check(two[0].importer != 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, DD_CAN_GET, &second), 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 1), 1);
	check_eq(desc.importers, 2);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), 2);
	check(two[0].importer != two[1].importer);
	check_eq(two[0].rights + two[1].rights, ALL + DD_CAN_GET);

	check_eq(dd_export_info(ex, segment, NULL, two, 2), -EINVAL);
	check_eq(dd_export_info(ex, segment, &desc, NULL, 2), -EINVAL);
	check_eq(dd_export_info(ex, segment, &desc, (void *)8, 2), -EFAULT);
	check_eq(dd_export_info(ex, segment + 1, &desc, two, 2), -ENOENT);
	check_eq(dd_unimport(second), 0);
	/* Another node is informed later. */
	while (far && info().importers != 1)
		;
	check_eq(info().importers, 1);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), -ENOENT);
	end();
}

/* The other import of the same process goes on. */
TEST(an_exporter_denies_an_importer)
{
	struct dd_export_importer one = { 0 };
	struct dd_export_desc desc;
	struct dd_mem *other;
	uint64_t word = 7;

	begin(0, 0);
	check_eq(dd_export_info(ex, segment, &desc, &one, 1), 1);
	check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &other), 0);
	check_eq(dd_export_deny(ex, segment, one.importer + 1), -ENOENT);
	check_eq(dd_export_deny(ex, segment, 0), -ENOENT);
	check_eq(dd_export_deny(ex, segment + 1, one.importer), -ENOENT);
	check_eq(dd_put(mem, &word, 8, 0, 0), 0);
	check_eq(dd_export_deny(ex, segment, one.importer), 0);
	memset(shared, 0, PAGE);
	while (dd_put(mem, &word, 8, 0, 0) != -ESTALE)
		;
	check_eq(dd_get(mem, &word, 8, 0), -ESTALE);
	check_eq(dd_import_wait(mem, 0), -ESTALE);
	check_eq(*(volatile uint64_t *)shared, 0);
	check_eq(dd_export_deny(ex, segment, one.importer), -ENOENT);
	check_eq(dd_put(other, &word, 8, 8, 0), 0);
	check_eq(dd_unimport(other), 0);
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &mem), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), 0);
	end();
}

/* What a signal is sent for is tested by abi_read. */
TEST(a_list_is_armed)
{
	struct dd_list_record rec;
	int fd, pair[2];

	begin(1, DD_NOTIFY_ALWAYS);
	fd = dd_list_fd(ex, attr.list);
	check(fd >= 0);
	check_eq(dd_list_arm(fd), -EINVAL);
	signal(SIGIO, SIG_IGN);
	check_eq(fcntl(fd, F_SETOWN, getpid()), 0);
	check_eq(fcntl(fd, F_SETFL, O_ASYNC), 0);
	check_eq(dd_list_arm(fd), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(dd_list_arm(fd), 1);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_shutdown(ex), 0);
	check_eq(dd_list_arm(fd), -ENOENT);
	close(fd);
	check_eq(dd_list_arm(fd), -EBADF);
	check_eq(pipe(pair), 0);
	check_eq(dd_list_arm(pair[0]), -ENOTTY);
	close(pair[0]);
	close(pair[1]);
	check_eq(dd_open(&ex), 0);
	end();
}

/* ---- redirection -------------------------------------------------------- */

/* The library finds the memory; what the kernel refuses is tested by abi_redir. */
TEST(bad_redirections)
{
	static char from[8] __attribute__((aligned(8)));
	void *to;

	begin(0, 0);
	check_eq(dd_alloc(ex, PAGE, &to), 0);
	check_eq(dd_redirect(ex, segment, 0, to, 8), -EOPNOTSUPP);
	reexport(ALL, DD_EXPORT_REDIRECT, PAGE);
	check_eq(dd_redirect(ex, segment, 0, from, 8), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, (char *)to + PAGE - 4, 8), -EINVAL);
	check_eq(dd_redirect_end(ex, segment), -ENOENT);
	check_eq(dd_redirect(ex, segment, 0, to, 8), 0);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_redirect(ex, segment, 0, to, 8), -ENOENT);
	end();
}

/* ---- tracked memory ----------------------------------------------------- */

TEST(bad_tracking)
{
	uint64_t bits;
	void *addr;
	char *at;

	begin(0, 0);
	check_eq(dd_alloc_tracked(ex, 0, &addr), -EINVAL);
	check_eq(dd_alloc_tracked(ex, PAGE, NULL), -EINVAL);
	check_eq(dd_alloc_tracked(ex, 1ull << 50, &addr), -ENOMEM);
	check_eq(dd_alloc(ex, PAGE, &addr), 0);
	check_eq(dd_dirty(ex, addr, PAGE, &bits), -EOPNOTSUPP);
	check_eq(dd_dirty(ex, &bits, PAGE, &bits), -EINVAL);
	check_eq(dd_alloc_tracked(ex, 2 * PAGE, &addr), 0);
	at = addr;
	at[PAGE] = 1;
	check_eq(dd_dirty(ex, at, 0, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 8, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at + 8, PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at + PAGE, 2 * PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 2 * PAGE, NULL), -EINVAL);
	check_eq(dd_dirty(ex, NULL, PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 2 * PAGE, (void *)8), -EFAULT);
	check_eq(dd_dirty(ex, at, 2 * PAGE, &bits), 0);
	check_eq(bits, 2);
	end();
}
