// SPDX-License-Identifier: GPL-2.0
/*
 * pi2: the controller of DualPI2 for a single queue (De Schepper et al., CoNEXT 2016).
 *
 * Follows tailback's simulator (crates/engine/src/aqm/pi2.rs). The arithmetic is that of
 * sch_dualpi2.c in Linux 7.3. The delay is the sojourn time of the packet at the head of the queue.
 * Classic packets are dropped with probability p squared. With "ecn 1", ECN-capable classic packets
 * are marked instead. With "scalable", packets of scalable senders are marked with probability k p.
 * If k p exceeds 1, these packets are dropped with probability p squared, and marked otherwise.
 *
 * A GSO packet counts as one packet. The licence is in ../patches/COPYING.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>

#include "qdisc.h"

#define ONE	U32_MAX		/* probability 1 */
#define PARTS	8		/* gains are given in 256ths of a Hz */
#define SHIFT	6		/* gains are stored in 64ths of a probability unit per ns */

/* Which packets are treated as scalable. */
enum { NOBODYS, ECT_1, ANY_ECT };

/* Statistics that tailback reads, in the order of aqm/pi2/kernel.rs. */
struct pi2_xstats {
	u32	prob;
	u32	delay;		/* us */
	u32	marks;
	u32	drops;
	u32	overflow;
};

struct pi2_data {
	u64	limit;		/* packets */
	u64	target;		/* ns */
	u64	tupdate;	/* ns */
	u64	alpha;		/* 256ths of a Hz; converted to the controller's units later */
	u64	beta;
	u64	k;
	u64	ecn;
	u64	scalable;

	struct hrtimer timer;
	struct Qdisc *sch;
	u64	last;		/* delay at the last update, ns */
	u64	head_ts;	/* when the head arrived; 0: nothing is queued */
	u32	prob;
	struct pi2_xstats stats;
	struct late late;
};

static const struct number numbers[] = {
	NUMBER(struct pi2_data, limit, 1, U32_MAX),
	NUMBER(struct pi2_data, target, 0, S64_MAX),
	NUMBER(struct pi2_data, tupdate, 1000, S64_MAX / 2),
	NUMBER(struct pi2_data, alpha, 1, S32_MAX),
	NUMBER(struct pi2_data, beta, 1, S32_MAX),
	NUMBER(struct pi2_data, k, 1, U8_MAX),
	NUMBER(struct pi2_data, ecn, 0, 1),
	NUMBER(struct pi2_data, scalable, NOBODYS, ANY_ECT),
};

/* --- controller --------------------------------------------------------------------------- */

static u64 head_delay(const struct pi2_data *q, u64 now)
{
	return q->head_ts ? now - q->head_ts : 0;
}

static void update(struct pi2_data *q, u64 delay)
{
	/* Overflow wraps, as in Linux. */
	s64 delta = (delay - q->target) * q->alpha + (delay - q->last) * q->beta;
	u32 before = q->prob, prob;

	q->last = delay;
	/* The result has 32 bits, so a change of p by more than 1 wraps, as in
	 * Linux. */
	if (delta > 0) {
		prob = before + (u32)((u64)delta >> SHIFT);
		if (prob < before)
			prob = ONE;
	} else {
		prob = before - (u32)(-(u64)delta >> SHIFT);
		if (prob > before)
			prob = 0;
	}
	WRITE_ONCE(q->prob, prob);
}

static void update_at(struct Qdisc *sch, u64 now)
{
	struct pi2_data *q = qdisc_priv(sch);

	update(q, head_delay(q, now));
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct pi2_data *q = container_of(timer, struct pi2_data, timer);

	return update_on_timer(timer, q->sch, q->tupdate, update_at);
}

/* --- one packet --------------------------------------------------------------------------- */

static bool roll(u64 prob)
{
	return get_random_u32() <= prob;
}

static bool roll_squared(const struct pi2_data *q)
{
	return roll(q->prob) && roll(q->prob);
}

static bool is_scalable(const struct pi2_data *q, u8 ecn)
{
	switch (q->scalable) {
	case ECT_1:
		return ecn & INET_ECN_ECT_1;
	case ANY_ECT:
		return ecn != INET_ECN_NOT_ECT;
	}
	return false;
}

static void mark(struct pi2_data *q, struct sk_buff *skb, u8 ecn)
{
	if (ecn != INET_ECN_CE && INET_ECN_set_ce(skb))
		q->stats.marks++;
}

/* Marks or drops a packet that has left the queue, with the probability that follows from p.
 * Returns whether to keep the packet. */
static bool survives(struct Qdisc *sch, struct sk_buff *skb)
{
	struct pi2_data *q = qdisc_priv(sch);
	/* Without "scalable", there is no coupling, and p never exceeds 1. */
	u64 coupled = (u64)q->prob * (q->scalable ? q->k : 1);
	bool overload = coupled > ONE;
	u8 ecn = ecn_field(skb);

	/* A queue of less than two frames is not a standing queue, so its
	 * packets are neither marked nor dropped. */
	if (sch->qstats.backlog < 2 * psched_mtu(qdisc_dev(sch)))
		return true;
	if (is_scalable(q, ecn)) {
		if (overload && roll_squared(q))
			return false;
		if (overload || roll(coupled))
			mark(q, skb, ecn);
		return true;
	}
	if (!roll_squared(q))
		return true;
	if (!q->ecn || ecn == INET_ECN_NOT_ECT || overload)
		return false;
	mark(q, skb, ecn);
	return true;
}

/* --- queue -------------------------------------------------------------------------------- */

static int pi2_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct pi2_data *q = qdisc_priv(sch);

	if (sch->q.qlen >= q->limit) {
		q->stats.overflow++;
		return qdisc_drop(skb, sch, to_free);
	}
	*arrival_of(skb) = ktime_get_ns();
	if (!sch->q.qlen)
		q->head_ts = *arrival_of(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *pi2_dequeue(struct Qdisc *sch)
{
	struct pi2_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while ((skb = __qdisc_dequeue_head(&sch->q)) != NULL) {
		q->head_ts = sch->q.head ? *arrival_of(sch->q.head) : 0;
		qdisc_qstats_backlog_dec(sch, skb);
		if (survives(sch, skb)) {
			qdisc_bstats_update(sch, skb);
			break;
		}
		q->stats.drops++;
		drop_late(sch, &q->late, skb);
	}
	tell_parents(sch, &q->late);
	return skb;
}

/* --- the qdisc ---------------------------------------------------------------------------- */

static int take_option(void *data, const char *name, char *value)
{
	return take_number(numbers, ARRAY_SIZE(numbers), data, name, value);
}

static u64 scale_gain(u64 parts)
{
	return div_u64(parts * ONE >> (PARTS - SHIFT), NSEC_PER_SEC);
}

static int pi2_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct pi2_data *q = qdisc_priv(sch);
	int error;

	/* Set up the timer before anything that can fail, because destroy()
	 * cancels it. */
	hrtimer_setup(&q->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	q->sch = sch;
	error = read_options(opt, extack, take_option, q);
	if (error)
		return error;
	if (!q->limit || !q->tupdate || !q->alpha || !q->beta || !q->k)
		return -EINVAL;
	q->alpha = scale_gain(q->alpha);
	q->beta = scale_gain(q->beta);
	start_updates(&q->timer, q->tupdate);
	return 0;
}

static int pi2_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct pi2_data *q = qdisc_priv(sch);

	q->stats.prob = READ_ONCE(q->prob);
	q->stats.delay = div_u64(head_delay(q, ktime_get_ns()), NSEC_PER_USEC);
	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static void pi2_reset(struct Qdisc *sch)
{
	struct pi2_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	memset(&q->stats, 0, sizeof(q->stats));
	q->prob = 0;
	q->last = 0;
	q->head_ts = 0;
	memset(&q->late, 0, sizeof(q->late));
}

static void pi2_destroy(struct Qdisc *sch)
{
	struct pi2_data *q = qdisc_priv(sch);

	hrtimer_cancel(&q->timer);
}

static struct Qdisc_ops pi2_ops __read_mostly = {
	.id		= "pi2",
	.priv_size	= sizeof(struct pi2_data),
	.enqueue	= pi2_enqueue,
	.dequeue	= pi2_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= pi2_init,
	.destroy	= pi2_destroy,
	.reset		= pi2_reset,
	.dump		= dump_nothing,
	.dump_stats	= pi2_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init pi2_start(void)
{
	return register_qdisc(&pi2_ops);
}

static void __exit pi2_stop(void)
{
	unregister_qdisc(&pi2_ops);
}

module_init(pi2_start)
module_exit(pi2_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PI2 over one queue");
MODULE_ALIAS("net-sch-pi2");
