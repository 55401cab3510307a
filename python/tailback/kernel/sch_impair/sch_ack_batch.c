// SPDX-License-Identifier: GPL-2.0
/*
 * ack_batch: holds ACKs and releases them together, either all of them or only the newest ACK of
 * each flow.
 *
 * Follows tailback's simulator (crates/engine/src/impairments/ack_batch.rs). A batch is released
 * when it is full, or when its first ACK has waited long enough. Other packets are not held. The
 * licence is in ../patches/COPYING.
 */
#include <linux/ktime.h>
#include <linux/module.h>

#include "qdisc.h"
#include "packet.h"

struct ack_batch_data {
	u64	packets;	/* number of ACKs in a full batch */
	u64	time;		/* the longest wait, ns */
	bool	newest;
	struct scope scope;
	u64	gathered;	/* ACKs of the current batch, including replaced ones */
	u64	until;		/* when the current batch is released, ns; 0 without a batch */
	struct qdisc_skb_head held;
	struct qdisc_watchdog watchdog;
};

/* Replaces the ACK of this packet's flow by the packet. Returns false if the flow has no ACK in the
 * batch. */
static bool replaces(struct ack_batch_data *q, struct sk_buff *skb, const struct segment *newer,
		     struct sk_buff **older)
{
	struct sk_buff **link;
	struct segment other;

	for (link = &q->held.head; *link; link = &(*link)->next) {
		if (!is_ack(*link, &other) || !ipv6_addr_equal(&other.from, &newer->from) ||
		    !ipv6_addr_equal(&other.to, &newer->to) ||
		    memcmp(other.ports, newer->ports, sizeof(other.ports)))
			continue;
		*older = *link;
		skb->next = (*older)->next;
		if (q->held.tail == *older)
			q->held.tail = skb;
		*link = skb;
		skb_mark_not_on_list(*older);
		return true;
	}
	return false;
}

/* Moves the ACKs of the current batch to the queue of packets that may leave. */
static void release(struct Qdisc *sch, struct ack_batch_data *q)
{
	struct sk_buff *skb;

	while ((skb = __qdisc_dequeue_head(&q->held)) != NULL) {
		__qdisc_enqueue_tail(skb, &sch->q);
		/* The ACK was already counted in qlen while it was held. */
		sch->q.qlen--;
	}
	q->gathered = 0;
	q->until = 0;
}

static int ack_batch_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct ack_batch_data *q = qdisc_priv(sch);
	struct sk_buff *older;
	struct segment segment;

	if (!concerns(&q->scope, skb) || !is_ack(skb, &segment) || segment.syn)
		return qdisc_enqueue_tail(skb, sch);
	if (!q->gathered++) {
		q->until = ktime_get_ns() + q->time;
		qdisc_watchdog_schedule_ns(&q->watchdog, q->until);
	}
	qdisc_qstats_backlog_inc(sch, skb);
	if (q->newest && replaces(q, skb, &segment, &older)) {
		qdisc_qstats_backlog_dec(sch, older);
		qdisc_qstats_drop(sch);
		__qdisc_drop(older, to_free);
	} else {
		__qdisc_enqueue_tail(skb, &q->held);
		sch->q.qlen++;
	}
	if (q->gathered >= q->packets) {
		qdisc_watchdog_cancel(&q->watchdog);
		release(sch, q);
	}
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *ack_batch_dequeue(struct Qdisc *sch)
{
	struct ack_batch_data *q = qdisc_priv(sch);

	if (q->until && q->until <= ktime_get_ns())
		release(sch, q);
	return sch->q.head ? qdisc_dequeue_head(sch) : NULL;
}

static const struct number numbers[] = {
	NUMBER(struct ack_batch_data, packets, 1, U32_MAX),
	NUMBER(struct ack_batch_data, time, 1, S64_MAX),
};

static int take_option(void *data, const char *name, char *value)
{
	struct ack_batch_data *q = data;

	if (!strcmp(name, "newest"))
		return kstrtobool(value, &q->newest);
	if (!take_scope(&q->scope, name, value))
		return 0;
	return take_number(numbers, ARRAY_SIZE(numbers), data, name, value);
}

/* Changes only the scope. The current batch keeps its size and time. */
static int take_change(void *data, const char *name, char *value)
{
	return take_scope(data, name, value);
}

static int ack_batch_change(struct Qdisc *sch, struct nlattr *opt,
			    struct netlink_ext_ack *extack)
{
	struct ack_batch_data *q = qdisc_priv(sch);
	struct scope scope = q->scope;
	int error = read_options(opt, extack, take_change, &scope);

	if (error)
		return error;
	sch_tree_lock(sch);
	q->scope = scope;
	sch_tree_unlock(sch);
	return 0;
}

static int ack_batch_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct ack_batch_data *q = qdisc_priv(sch);
	int error;

	qdisc_watchdog_init(&q->watchdog, sch);
	error = read_options(opt, extack, take_option, q);
	return error || (q->packets && q->time) ? error : -EINVAL;
}

static void ack_batch_reset(struct Qdisc *sch)
{
	struct ack_batch_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	release(sch, q);
	qdisc_reset_queue(sch);
}

static void ack_batch_destroy(struct Qdisc *sch)
{
	struct ack_batch_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
}

static struct Qdisc_ops ack_batch_ops __read_mostly = {
	.id		= "ack_batch",
	.priv_size	= sizeof(struct ack_batch_data),
	.enqueue	= ack_batch_enqueue,
	.dequeue	= ack_batch_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= ack_batch_init,
	.change		= ack_batch_change,
	.reset		= ack_batch_reset,
	.destroy	= ack_batch_destroy,
	.dump		= dump_nothing,
	.owner		= THIS_MODULE,
};

static int __init ack_batch_start(void)
{
	return register_qdisc(&ack_batch_ops);
}

static void __exit ack_batch_stop(void)
{
	unregister_qdisc(&ack_batch_ops);
}

module_init(ack_batch_start)
module_exit(ack_batch_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Gathers ACKs and releases them together");
MODULE_ALIAS("net-sch-ack_batch");
