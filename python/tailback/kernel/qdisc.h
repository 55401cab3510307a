/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that tailback's queue disciplines share: options, limits, the ECN field,
 * and drops at dequeue.
 *
 * `kernel build` copies this file to the folder of each module that includes it. See
 * patches/COPYING for the licence.
 */
#ifndef TAILBACK_QDISC_H
#define TAILBACK_QDISC_H

#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* --- options ------------------------------------------------------------------------------ */

/*
 * tc does not know these qdiscs. Their options are therefore one text in attribute 1: NAME VALUE
 * ...
 *
 * Calls `take` with each option. Returns the first error of `take`, or -ENODATA if there is no
 * text.
 */
static inline int read_options(struct nlattr *opt, struct netlink_ext_ack *extack,
			       int (*take)(void *data, const char *name, char *value), void *data)
{
	enum { TEXT = 1 };
	static const struct nla_policy policy[TEXT + 1] = { [TEXT] = { .type = NLA_NUL_STRING } };
	struct nlattr *attrs[TEXT + 1];
	char *text, *rest, *name, *value;
	int error;

	if (!opt)
		return -ENODATA;
	error = nla_parse_nested_deprecated(attrs, TEXT, opt, policy, extack);
	if (error < 0)
		return error;
	if (!attrs[TEXT])
		return -ENODATA;
	text = nla_strdup(attrs[TEXT], GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	rest = text;
	while (!error && (name = strsep(&rest, " ")) != NULL) {
		value = strsep(&rest, " ");
		if (!*name && !value)
			break;
		error = value ? take(data, name, value) : -EINVAL;
		if (error)
			pr_err("%s: %s %s: unknown option, or a value beyond its range\n",
			       KBUILD_MODNAME, name, value ? value : "");
	}
	kfree(text);
	return error;
}

/* An option that is a u64 member of a structure. */
struct number {
	const char *name;
	size_t at;
	u64 min;
	u64 max;
};

#define NUMBER(type, name, min, max) { #name, offsetof(type, name), min, max }

/* Stores an option of the table. Returns -EINVAL for another name or a value outside the range. */
static inline int take_number(const struct number *numbers, size_t count, void *data,
			      const char *name, const char *value)
{
	u64 number;
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcmp(name, numbers[i].name))
			continue;
		if (kstrtou64(value, 10, &number) || number < numbers[i].min ||
		    number > numbers[i].max)
			return -EINVAL;
		*(u64 *)((char *)data + numbers[i].at) = number;
		return 0;
	}
	return -EINVAL;
}

enum unit { IN_BYTES, IN_PACKETS, IN_NANOSECONDS };

/* Reads a size in bytes (1500b), packets (20p) or ns (1000000n). */
static inline int read_size(char *value, u64 *size, enum unit *unit)
{
	size_t length = strlen(value);

	if (length < 2)
		return -EINVAL;
	switch (value[length - 1]) {
	case 'b':
		*unit = IN_BYTES;
		break;
	case 'p':
		*unit = IN_PACKETS;
		break;
	case 'n':
		*unit = IN_NANOSECONDS;
		break;
	default:
		return -EINVAL;
	}
	value[length - 1] = '\0';
	return kstrtou64(value, 10, size);
}

/* Reads a queue length in bytes (1500b) or packets (20p). */
static inline int read_length(char *value, u32 *length, bool *packets)
{
	enum unit unit;
	u64 size;

	if (read_size(value, &size, &unit) || unit == IN_NANOSECONDS || size > U32_MAX)
		return -EINVAL;
	*length = size;
	*packets = unit == IN_PACKETS;
	return 0;
}

/* tc shows no options of these qdiscs. */
static inline int dump_nothing(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	return nest ? nla_nest_end(skb, nest) : -EMSGSIZE;
}

/* --- packets ------------------------------------------------------------------------------ */

/* Returns the ECN field of a packet, or INET_ECN_NOT_ECT if the header is not
 * accessible. */
static inline u8 ecn_field(const struct sk_buff *skb)
{
	const u8 *end = skb_tail_pointer(skb), *header = skb_network_header(skb);

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (header + sizeof(struct iphdr) <= end)
			return ipv4_get_dsfield(ip_hdr(skb)) & INET_ECN_MASK;
		break;
	case htons(ETH_P_IPV6):
		if (header + sizeof(struct ipv6hdr) <= end)
			return ipv6_get_dsfield(ipv6_hdr(skb)) & INET_ECN_MASK;
		break;
	}
	return INET_ECN_NOT_ECT;
}

/* Returns whether a queue with this limit has room for a packet of `len` bytes. */
static inline bool has_room(const struct Qdisc *sch, u32 limit, bool packets, u32 len)
{
	if (packets)
		return sch->q.qlen < limit;
	return (u64)sch->qstats.backlog + len <= limit;
}

/* The arrival time of a packet, ns, for qdiscs that store nothing else in its
 * control block. */
static inline u64 *arrival_of(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(u64));
	return (u64 *)qdisc_skb_cb(skb)->data;
}

/* --- drops at dequeue --------------------------------------------------------------------- */

/* Packets that dequeue has dropped, but that the parent qdiscs still count as queued. */
struct late {
	u32	drops;
	u32	bytes;
};

/* Drops a packet that has left the queue. */
static inline void drop_late(struct Qdisc *sch, struct late *late, struct sk_buff *skb)
{
	late->drops++;
	late->bytes += qdisc_pkt_len(skb);
	qdisc_qstats_drop(sch);
	kfree_skb(skb);
}

/* Called at the end of dequeue: tells the parent qdiscs which packets were
 * dropped. */
static inline void tell_parents(struct Qdisc *sch, struct late *late)
{
	if (!late->drops)
		return;
	/* Before Linux 6.17, htb fails if its leaf becomes empty during dequeue. */
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0) && !sch->q.qlen)
		return;
	qdisc_tree_reduce_backlog(sch, late->drops, late->bytes);
	memset(late, 0, sizeof(*late));
}

/* --- updates by a timer -------------------------------------------------------------------- */

/* Calls `update` under the lock of the qdisc, and starts the timer again for `period`
 * ns later. */
static inline enum hrtimer_restart update_on_timer(struct hrtimer *timer, struct Qdisc *sch,
						   u64 period,
						   void (*update)(struct Qdisc *sch, u64 now))
{
	spinlock_t *lock;
	u64 now;

	rcu_read_lock();
	lock = qdisc_lock(qdisc_root_sleeping(sch));
	spin_lock(lock);
	now = ktime_get_ns();
	update(sch, now);
	hrtimer_set_expires(timer, ns_to_ktime(now + period));
	spin_unlock(lock);
	rcu_read_unlock();
	return HRTIMER_RESTART;
}

/* Starts the timer, which first fires in `first` ns. */
static inline void start_updates(struct hrtimer *timer, u64 first)
{
	hrtimer_start(timer, ns_to_ktime(ktime_get_ns() + first), HRTIMER_MODE_ABS_PINNED_SOFT);
}

#endif
