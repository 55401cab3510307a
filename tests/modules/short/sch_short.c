// SPDX-License-Identifier: GPL-2.0
/* Replaces CoDel by a FIFO that holds LIMIT packets and ignores all options. */
#include <linux/module.h>
#include <net/pkt_sched.h>

#define LIMIT 10

static int short_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	if (sch->q.qlen >= LIMIT)
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int short_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	return 0;
}

static struct Qdisc_ops short_qdisc_ops __read_mostly = {
	.id		= "codel",
	.enqueue	= short_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= short_change,
	.change		= short_change,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init short_register(void)
{
	return register_qdisc(&short_qdisc_ops);
}

static void __exit short_unregister(void)
{
	unregister_qdisc(&short_qdisc_ops);
}

module_init(short_register);
module_exit(short_unregister);
MODULE_LICENSE("GPL");
