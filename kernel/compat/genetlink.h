/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of generic netlink that the generated netlink_gen.c needs and older kernels lack.
 */
#ifndef _DD_COMPAT_GENETLINK_H
#define _DD_COMPAT_GENETLINK_H

#include <linux/version.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <uapi/linux/dd_netlink.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
struct genl_split_ops {
	int (*doit)(struct sk_buff *skb, struct genl_info *info);
	int (*start)(struct netlink_callback *cb);
	int (*dumpit)(struct sk_buff *skb, struct netlink_callback *cb);
	const struct nla_policy *policy;
	unsigned int maxattr;
	u8 cmd;
	u8 flags;
};

/* Before 6.2, "do" and "dump" of a command share one entry and its policy. */
static inline void dd_genl_merge(struct genl_ops *to,
				 const struct genl_split_ops *from)
{
	to->cmd = from->cmd;
	to->flags |= from->flags & ~(GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP);
	if (from->flags & GENL_CMD_CAP_DO) {
		to->doit = from->doit;
	} else {
		to->start = from->start;
		to->dumpit = from->dumpit;
	}
	if (from->policy) {
		to->policy = from->policy;
		to->maxattr = from->maxattr;
	}
}

static inline void dd_genl_set_ops(struct genl_family *family,
				   const struct genl_split_ops *split,
				   unsigned int n_split)
{
	/* At most one entry for each command. */
	static struct genl_ops ops[DD_CMD_MAX] __ro_after_init;
	unsigned int i, n = 0;

	for (i = 0; i < n_split; i++) {
		n += !i || ops[n - 1].cmd != split[i].cmd;
		dd_genl_merge(&ops[n - 1], &split[i]);
	}
	family->ops = ops;
	family->n_ops = n;
}
#else
static inline void dd_genl_set_ops(struct genl_family *family,
				   const struct genl_split_ops *split,
				   unsigned int n_split)
{
	/* Reject attributes without a policy, as 6.1 does and later kernels for genl_ops only. */
	static const struct nla_policy reject[] = {
		{ .type = NLA_REJECT },
		{ .type = NLA_REJECT },
	};
	/* A command has at most one entry for "do" and one for "dump". */
	static struct genl_split_ops ops[2 * DD_CMD_MAX] __ro_after_init;
	unsigned int i;

	for (i = 0; i < n_split; i++) {
		ops[i] = split[i];
		if (ops[i].policy)
			continue;
		ops[i].policy = reject;
		ops[i].maxattr = ARRAY_SIZE(reject) - 1;
	}
	family->split_ops = ops;
	family->n_split_ops = n_split;
}
#endif

/* Before 6.7, the range of this macro is not const, although the kernel does not write to it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range) {				\
	.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp),			\
	.validation_type = NLA_VALIDATE_RANGE_PTR,			\
	.range = (struct netlink_range_validation *)(_range),		\
}
#endif

/* Kernels without flags for groups use the flag of operations. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

#endif /* _DD_COMPAT_GENETLINK_H */
