// SPDX-License-Identifier: GPL-2.0
/*
 * police: drops or marks packets that exceed a rate and a burst, without a buffer.
 *
 * Follows tailback's simulator (crates/engine/src/impairments/police.rs), and uses the same
 * arithmetic in whole nanoseconds. Linux has a policer as an action (act_police), but that policer
 * cannot mark, and is not in the configuration of tailback's kernels. Packets that pass are not
 * delayed.
 *
 * A GSO packet counts as one packet. The licence is in ../patches/COPYING.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "qdisc.h"
#include "packet.h"

struct police_data {
	u64	rate;		/* bit/s */
	u64	depth;		/* the time in which an empty bucket fills, ns */
	u64	full;		/* when the bucket is full again, ns */
	bool	mark;
	struct scope scope;
};

/* Returns whether the bucket has tokens for a packet, and takes them. */
static bool conforms(struct police_data *q, u32 bytes)
{
	u64 now = ktime_get_ns();
	u64 time = div64_u64((u64)bytes * 8 * NSEC_PER_SEC + q->rate - 1, q->rate);
	u64 full = max(q->full, now) + time;

	if (full > now + q->depth)
		return false;
	q->full = full;
	return true;
}

static int police_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct police_data *q = qdisc_priv(sch);

	/* If the policer marks, a packet that already carries CE passes. */
	if (concerns(&q->scope, skb) && !conforms(q, qdisc_pkt_len(skb)) &&
	    !(q->mark && INET_ECN_set_ce(skb)))
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static const struct number numbers[] = {
	NUMBER(struct police_data, rate, 1, S64_MAX),
	NUMBER(struct police_data, depth, 1, S64_MAX),
};

static int take_option(void *data, const char *name, char *value)
{
	struct police_data *q = data;

	if (!strcmp(name, "mark"))
		return kstrtobool(value, &q->mark);
	if (!take_scope(&q->scope, name, value))
		return 0;
	return take_number(numbers, ARRAY_SIZE(numbers), data, name, value);
}

static int police_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct police_data *q = qdisc_priv(sch), changed = *q;
	int error = read_options(opt, extack, take_option, &changed);

	if (error)
		return error;
	sch_tree_lock(sch);
	changed.full = q->full;
	*q = changed;
	sch_tree_unlock(sch);
	return 0;
}

static int police_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct police_data *q = qdisc_priv(sch);
	int error = read_options(opt, extack, take_option, q);

	return error || (q->rate && q->depth) ? error : -EINVAL;
}

static struct Qdisc_ops police_ops __read_mostly = {
	.id		= "police",
	.priv_size	= sizeof(struct police_data),
	.enqueue	= police_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= police_init,
	.change		= police_change,
	.reset		= qdisc_reset_queue,
	.dump		= dump_nothing,
	.owner		= THIS_MODULE,
};

static int __init police_start(void)
{
	return register_qdisc(&police_ops);
}

static void __exit police_stop(void)
{
	unregister_qdisc(&police_ops);
}

module_init(police_start)
module_exit(police_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Drops or marks packets that exceed a rate and a burst");
MODULE_ALIAS("net-sch-police");
