// SPDX-License-Identifier: GPL-2.0
/*
 * outage: passes on the packets of another queue discipline, or holds all of them back.
 *
 * The rate of a link may be 0 for a while. htb does not accept a rate of 0. At a very low rate, one
 * packet would block htb for up to a minute. So this qdisc is the root and htb is its child.
 * "closed 1" keeps packets in the child until "closed 0". This qdisc has no queue, so the child
 * decides which packets it drops or marks, as in tailback's simulator.
 *
 * The licence is in ../patches/COPYING.
 */
#include <linux/module.h>

#include "qdisc.h"

struct outage_data {
	struct Qdisc *child;
	bool closed;
};

static int outage_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct outage_data *q = qdisc_priv(sch);
	unsigned int length = qdisc_pkt_len(skb);
	int status = qdisc_enqueue(skb, q->child, to_free);

	if (status == NET_XMIT_SUCCESS) {
		sch->qstats.backlog += length;
		sch->q.qlen++;
	} else if (net_xmit_drop_count(status)) {
		qdisc_qstats_drop(sch);
	}
	return status;
}

static struct sk_buff *outage_dequeue(struct Qdisc *sch)
{
	struct outage_data *q = qdisc_priv(sch);
	struct sk_buff *skb = q->closed ? NULL : q->child->ops->dequeue(q->child);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_bstats_update(sch, skb);
	}
	return skb;
}

static int take_option(void *data, const char *name, char *value)
{
	return strcmp(name, "closed") ? -EINVAL : kstrtobool(value, data);
}

static int outage_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct outage_data *q = qdisc_priv(sch);
	bool closed = false;
	int error = read_options(opt, extack, take_option, &closed);

	if (error)
		return error;
	sch_tree_lock(sch);
	q->closed = closed;
	sch_tree_unlock(sch);
	/* Schedule a dequeue, because the child does not schedule one for packets that arrived
	 * during the outage. */
	if (!closed)
		__netif_schedule(sch);
	return 0;
}

static int outage_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct outage_data *q = qdisc_priv(sch);

	q->child = &noop_qdisc;
	q->closed = false;
	return 0;
}

static void outage_reset(struct Qdisc *sch)
{
	struct outage_data *q = qdisc_priv(sch);

	qdisc_reset(q->child);
	sch->qstats.backlog = 0;
	sch->q.qlen = 0;
}

static void outage_destroy(struct Qdisc *sch)
{
	struct outage_data *q = qdisc_priv(sch);

	qdisc_put(q->child);
}

/* --- the only class, minor 1, is the child ------------------------------------------------ */

static int outage_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *child,
			struct Qdisc **before, struct netlink_ext_ack *extack)
{
	struct outage_data *q = qdisc_priv(sch);

	*before = qdisc_replace(sch, child ? child : &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *outage_leaf(struct Qdisc *sch, unsigned long class)
{
	struct outage_data *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long outage_find(struct Qdisc *sch, u32 id)
{
	return TC_H_MIN(id) == 1;
}

static void outage_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (walker->stop)
		return;
	if (walker->count >= walker->skip && walker->fn(sch, 1, walker) < 0)
		walker->stop = 1;
	else
		walker->count++;
}

static int outage_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
			     struct tcmsg *message)
{
	struct outage_data *q = qdisc_priv(sch);

	message->tcm_handle |= TC_H_MIN(1);
	message->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops outage_class_ops = {
	.graft	= outage_graft,
	.leaf	= outage_leaf,
	.find	= outage_find,
	.walk	= outage_walk,
	.dump	= outage_dump_class,
};

static struct Qdisc_ops outage_ops __read_mostly = {
	.id		= "outage",
	.priv_size	= sizeof(struct outage_data),
	.cl_ops		= &outage_class_ops,
	.enqueue	= outage_enqueue,
	.dequeue	= outage_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= outage_init,
	.change		= outage_change,
	.reset		= outage_reset,
	.destroy	= outage_destroy,
	.dump		= dump_nothing,
	.owner		= THIS_MODULE,
};

static int __init outage_start(void)
{
	return register_qdisc(&outage_ops);
}

static void __exit outage_stop(void)
{
	unregister_qdisc(&outage_ops);
}

module_init(outage_start)
module_exit(outage_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Holds the packets of another queue discipline back for a while");
MODULE_ALIAS("net-sch-outage");
