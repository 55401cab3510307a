// SPDX-License-Identifier: GPL-2.0
/*
 * step: one FIFO that marks every ECN-capable packet above one threshold.
 *
 * Follows RFC 8257 section 3.1 and tailback's simulator (crates/engine/src/aqm/step.rs). A
 * threshold in bytes or packets is compared with the queue length when a packet arrives, or with
 * the length of the remaining queue when the packet departs ("at_dequeue 1"). A threshold in time
 * is compared with the sojourn time of the packet as it leaves. Packets that are not ECN-capable
 * pass, or are dropped.
 *
 * A GSO packet counts as one packet. The licence is in ../patches/COPYING.
 */
#include <linux/ktime.h>
#include <linux/module.h>

#include "qdisc.h"

/* Statistics that tailback reads, in the order of aqm/step/kernel.rs. */
struct step_xstats {
	u32	marks;
	u32	drops;		/* packets above the threshold that are not ECN-capable */
	u32	overflow;
};

struct step_data {
	u32	limit;
	bool	limit_packets;
	enum unit unit;
	u64	threshold;
	bool	at_dequeue;
	bool	include_arriving;
	bool	drop_not_ect;
	struct step_xstats stats;
	struct late late;
};

/* Returns whether a packet that is not in the queue is above the threshold. */
static bool is_above(const struct step_data *q, const struct Qdisc *sch, struct sk_buff *skb)
{
	switch (q->unit) {
	case IN_NANOSECONDS:
		return ktime_get_ns() - *arrival_of(skb) > q->threshold;
	case IN_PACKETS:
		return sch->q.qlen + q->include_arriving > q->threshold;
	default:
		return sch->qstats.backlog + q->include_arriving * (u64)qdisc_pkt_len(skb) >
		       q->threshold;
	}
}

/* Marks a packet above the threshold. Returns whether to keep it. */
static bool survives(struct Qdisc *sch, struct sk_buff *skb)
{
	struct step_data *q = qdisc_priv(sch);

	if (!is_above(q, sch, skb))
		return true;
	if (ecn_field(skb) == INET_ECN_NOT_ECT) {
		q->stats.drops += q->drop_not_ect;
		return !q->drop_not_ect;
	}
	if (INET_ECN_set_ce(skb))
		q->stats.marks++;
	return true;
}

static int step_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct step_data *q = qdisc_priv(sch);

	if (!has_room(sch, q->limit, q->limit_packets, qdisc_pkt_len(skb))) {
		q->stats.overflow++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (!q->at_dequeue && !survives(sch, skb)) {
		qdisc_drop(skb, sch, to_free);
		return NET_XMIT_CN;
	}
	*arrival_of(skb) = ktime_get_ns();
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *step_dequeue(struct Qdisc *sch)
{
	struct step_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while ((skb = __qdisc_dequeue_head(&sch->q)) != NULL) {
		qdisc_qstats_backlog_dec(sch, skb);
		if (!q->at_dequeue || survives(sch, skb)) {
			qdisc_bstats_update(sch, skb);
			break;
		}
		drop_late(sch, &q->late, skb);
	}
	tell_parents(sch, &q->late);
	return skb;
}

static void step_reset(struct Qdisc *sch)
{
	struct step_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	memset(&q->stats, 0, sizeof(q->stats));
	memset(&q->late, 0, sizeof(q->late));
}

static int take_option(void *data, const char *name, char *value)
{
	struct step_data *q = data;

	if (!strcmp(name, "limit"))
		return read_length(value, &q->limit, &q->limit_packets);
	if (!strcmp(name, "threshold"))
		return read_size(value, &q->threshold, &q->unit);
	if (!strcmp(name, "at_dequeue"))
		return kstrtobool(value, &q->at_dequeue);
	if (!strcmp(name, "include_arriving"))
		return kstrtobool(value, &q->include_arriving);
	if (!strcmp(name, "drop_not_ect"))
		return kstrtobool(value, &q->drop_not_ect);
	return -EINVAL;
}

static int step_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct step_data *q = qdisc_priv(sch);
	int error = read_options(opt, extack, take_option, q);

	/* A threshold in time needs "at_dequeue 1", because the sojourn time is
	 * known only when a packet leaves. */
	if (!error && (!q->limit || (q->unit == IN_NANOSECONDS && !q->at_dequeue)))
		error = -EINVAL;
	return error;
}

static int step_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct step_data *q = qdisc_priv(sch);

	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static struct Qdisc_ops step_ops __read_mostly = {
	.id		= "step",
	.priv_size	= sizeof(struct step_data),
	.enqueue	= step_enqueue,
	.dequeue	= step_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= step_init,
	.reset		= step_reset,
	.dump		= dump_nothing,
	.dump_stats	= step_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init step_start(void)
{
	return register_qdisc(&step_ops);
}

static void __exit step_stop(void)
{
	unregister_qdisc(&step_ops);
}

module_init(step_start)
module_exit(step_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Marks ECN-capable packets above one threshold");
MODULE_ALIAS("net-sch-step");
