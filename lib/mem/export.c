// SPDX-License-Identifier: LGPL-2.1-only
/*
 * export.c - segments of the memory of this process
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "dev.h"
#include "list.h"
#include "region.h"

_Static_assert(DD_KEY_SIZE == DD_SEGMENT_KEY && DD_KEY_NAME == DD_SEGMENT_NAME &&
	       DD_KEY_ID == DD_SEGMENT_ID && DD_KEY_BUFFER == DD_SEGMENT_BUFFER &&
	       DD_KEY_WELL_KNOWN == DD_SEGMENT_WELL_KNOWN &&
	       DD_KEY_REGISTERED == DD_SEGMENT_REGISTERED &&
	       DD_IMPORT_WHEN_EXPORTED == DD_IMPORT_PARK &&
	       DD_CAN_PUT == DD_RIGHT_PUT && DD_CAN_GET == DD_RIGHT_GET &&
	       DD_CAN_CAS == DD_RIGHT_CAS &&
	       DD_EXPORT_NODIRECT == DD_SEGMENT_NODIRECT &&
	       DD_EXPORT_DIRECT_ANY == DD_SEGMENT_DIRECT_ANY &&
	       DD_EXPORT_WHOLE_PAGES == DD_SEGMENT_WHOLE_PAGES_OK &&
	       DD_EXPORT_REDIRECT == DD_SEGMENT_REDIRECT &&
	       DD_EXPORT_INHIBITED == DD_SEGMENT_INHIBITED &&
	       DD_NOTIFY_IF_ASKED == (int)DD_POLICY_CONDITIONAL &&
	       DD_NOTIFY_ALWAYS == (int)DD_POLICY_ALWAYS &&
	       DD_NOTIFY_NEVER == (int)DD_POLICY_NEVER &&
	       DD_FOR_USER == (int)DD_PERMIT_USER && DD_FOR_ANY == (int)DD_PERMIT_ANY &&
	       DD_FOR_LISTED == (int)DD_PERMIT_LISTED, "numbers of the kernel");

#define SAME(type, kernel, member, kernels)	\
	(offsetof(struct type, member) == offsetof(struct kernel, kernels))
_Static_assert(sizeof(struct dd_export_state) == sizeof(struct dd_segment_state) &&
	       SAME(dd_export_state, dd_segment_state, data_end, data_end) &&
	       SAME(dd_export_state, dd_segment_state, first, first) &&
	       SAME(dd_export_state, dd_segment_state, count, count) &&
	       SAME(dd_export_state, dd_segment_state, request, request) &&
	       sizeof(struct dd_export_importer) == sizeof(struct dd_importer) &&
	       SAME(dd_export_importer, dd_importer, importer, channel) &&
	       SAME(dd_export_importer, dd_importer, count, count) &&
	       SAME(dd_export_importer, dd_importer, node, node) &&
	       SAME(dd_export_importer, dd_importer, pid, pid) &&
	       SAME(dd_export_importer, dd_importer, uid, uid) &&
	       SAME(dd_export_importer, dd_importer, rights, rights), "layouts of the kernel");

DD_API int dd_export(struct dd *h, struct dd_export_attr *attr, uint64_t *segment)
{
	struct dd_segment_make s = { .size = sizeof(s) };
	struct dd_buf buf;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!attr || !segment || attr->size != sizeof(*attr) ||
	    !ddi_region_find(h, attr->addr, attr->len, &buf))
		return -EINVAL;
	s.flags = attr->flags;
	s.region = buf.region;
	s.offset = buf.offset;
	s.length = attr->len;
	s.key_class = attr->key_class;
	memcpy(s.key, attr->key, sizeof(s.key));
	s.rights = attr->rights;
	s.policy = attr->notify;
	s.permission = attr->users;
	s.importers = attr->importers;
	s.list = attr->list;
	s.window = attr->window;
	s.cookie = attr->cookie;
	ret = ddi_ioctl(h, DD_IOC_SEGMENT, &s);
	if (ret < 0)
		return ret;
	memcpy(attr->key, s.key, sizeof(attr->key));
	attr->state = s.state_unit ? ddi_unit(h, s.state_unit) : NULL;
	*segment = s.segment;
	return 0;
}

DD_API int dd_unexport(struct dd *h, uint64_t segment)
{
	int ret = ddi_alive(h) ? ddi_ioctl_conn(h, DD_IOC_END, segment) : -ESTALE;

	/* A signal ends only the wait for other nodes. */
	return ret == -EINTR ? 0 : ret;
}

static int segment_ctl(struct dd *h, struct dd_segment_ctl c)
{
	c.size = sizeof(c);
	return ddi_alive(h) ? ddi_ioctl(h, DD_IOC_SEGMENT_CTL, &c) : -ESTALE;
}

DD_API int dd_export_inhibit(struct dd *h, uint64_t segment, int on)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_INHIBIT, .segment = segment, .value = on });
}

DD_API int dd_export_grant(struct dd *h, uint64_t segment, int node, unsigned int uid,
			   unsigned int rights)
{
	if (node < -1 || node == INT_MAX)
		return -EINVAL;
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_GRANT, .segment = segment, .value = node + 1, .uid = uid,
		.rights = rights });
}

DD_API int dd_export_notify(struct dd *h, uint64_t segment, unsigned int notify)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_POLICY, .segment = segment, .value = notify });
}

DD_API int dd_export_deny(struct dd *h, uint64_t segment, uint64_t importer)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_DENY, .segment = segment, .value = importer });
}

DD_API int dd_export_info(struct dd *h, uint64_t segment, struct dd_export_desc *desc,
			  struct dd_export_importer *importers, unsigned int count)
{
	struct dd_segment_info info = {
		.size = sizeof(info), .segment = segment, .count = count,
		.importers = count ? (uintptr_t)importers : 0,
	};
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!desc)
		return -EINVAL;
	ret = ddi_ioctl(h, DD_IOC_SEGMENT_INFO, &info);
	if (ret < 0)
		return ret;
	*desc = (struct dd_export_desc){
		.len = info.length, .importers = info.total,
		.inhibited = info.inhibit, .notify = info.policy,
		.refused_rights = info.refused_rights,
		.refused_inhibit = info.refused_inhibit,
		.refused_bounds = info.refused_bounds,
	};
	return info.count;
}

DD_API int dd_redirect(struct dd *h, uint64_t segment, uint64_t offset, void *addr, size_t len)
{
	struct dd_buf buf;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!ddi_region_find(h, addr, len, &buf))
		return -EINVAL;
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_REDIRECT_TO, .segment = segment, .value = offset,
		.region = buf.region, .offset = buf.offset, .length = len });
}

DD_API int dd_redirect_end(struct dd *h, uint64_t segment)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_REDIRECT_END, .segment = segment });
}

DD_API int dd_list(struct dd *h)
{
	struct dd_list_make made = { .size = sizeof(made) };
	struct ddi_list *l;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	ret = ddi_ioctl(h, DD_IOC_LIST_MAKE, &made);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&h->lock);
	l = ddi_list_bind(h, made.list, made.list_unit);
	if (l)
		l->serial = made.serial;
	pthread_mutex_unlock(&h->lock);
	if (!l)
		ddi_ioctl_conn(h, DD_IOC_END, made.serial);
	return l ? (int)made.list : -ENOMEM;
}

DD_API int dd_list_end(struct dd *h, int list)
{
	struct ddi_list *l;

	if (!ddi_alive(h))
		return -ESTALE;
	l = ddi_list_find(h, list);
	if (!l)
		return -ENOENT;
	return l->serial ? ddi_ioctl_conn(h, DD_IOC_END, l->serial) : -EINVAL;
}

DD_API int dd_list_arm(int fd)
{
	int ret = ioctl(fd, DD_IOC_LIST_ARM, 0);

	return ret < 0 ? -errno : ret;
}
