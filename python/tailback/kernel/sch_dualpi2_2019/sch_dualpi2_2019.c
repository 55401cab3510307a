// SPDX-License-Identifier: GPL-2.0
/*
 * dualpi2_2019: the versions of DualPI2 from 2018 and 2019, before DualPI2 was in Linux, with their
 * schedulers and arithmetic.
 *
 * It follows the simulator (crates/engine/src/aqm/dualpi2). The file presets.rs there names the
 * source of each version. Structure, names and statistics are those of sch_dualpi2.c in Linux 7.3.
 * Without options, this qdisc behaves like Linux's.
 *
 * Deviations from the versions of 2019:
 * - A high-resolution timer updates the probability. With `jiffies 1`, the update interval is
 *   rounded up to multiples of 4 ms, as with the jiffies timer of the original at 250 Hz.
 * - A packet that already carries CE is not counted as marked, as in the simulator.
 * - There are no filters: only the ECN field decides into which queue a packet is put.
 * - There is an option split_gso.
 *
 * Deviations from Linux 7.3: each queue is a list in this qdisc, so no child qdisc can be attached,
 * and no option can be changed while the qdisc runs.
 *
 * See `numbers` and `choices` for the options, and ../patches/COPYING for the licence.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/gso.h>
#endif

#include "qdisc.h"

#define ONE		U32_MAX		/* probability 1 */
#define PARTS		8		/* gains are given in 256ths of a Hz */
#define JIFFY		(4 * NSEC_PER_MSEC)
#define TICK_SHIFT	6		/* ticks of 64 ns */
#define TICKS_PER_SEC	((u32)NSEC_PER_SEC >> TICK_SHIFT)
#define NO_NUMBER	U64_MAX		/* an option that is not given */

/* --- options ------------------------------------------------------------------------------ */

enum version { LINUX, REFACTORED, WRR_PERCENT, WRR_COUNTER, STABLE };
static const char * const versions[] = {
	"linux-6.17", "dualpi2-2019-refactored", "dualpi2-2019-wrr-percent",
	"dualpi2-2019-wrr-counter", "dualpi2-2019-02-21",
};

enum scheduling { CREDIT, COUNTER, PERCENT, SHIFTED };
static const char * const schedulers[] = { "credit", "wrr-counter", "wrr-percent", "ts-fifo" };

enum arithmetic { DIV64, DIV127, TICKS, NANOSECONDS };
static const char * const units[] = { "div64", "div127", "ticks", "ns" };

struct options {
	int	version;		/* details that have no option of their own */
	int	scheduler;
	int	arithmetic;		/* units and divisor of the gains */
	u64	limit;			/* packets of both queues */
	u64	memlimit;		/* bytes of buffers */
	u64	target;			/* ns */
	u64	tupdate;		/* ns */
	u64	alpha;			/* 256ths of a Hz */
	u64	beta;
	u64	step_ns;		/* one of these two */
	u64	step_packets;
	u64	min_qlen_step;
	u64	step_at_dequeue;	/* min_qlen_step: packets left behind, not found */
	u64	coupling_factor;
	u64	any_ect;
	u64	drop_on_overload;
	u64	l_drop;			/* percent of k p above which ECN is ignored; 0: p stops at 1/k */
	u64	drop_enqueue;
	u64	classic_protection;	/* percent */
	u64	wrr_ratio;		/* packets of L for each packet of C */
	u64	tshift;			/* lead of L, ns */
	u64	tspeed;			/* delays of L count 2 to the power of this */
	u64	jiffies;
	u64	reset_interval;		/* ns */
	u64	split_gso;
};

#define CHOICE(name, words) { #name, offsetof(struct options, name), words, ARRAY_SIZE(words) }
static const struct {
	const char *name;
	size_t at;
	const char * const *words;
	size_t count;
} choices[] = {
	CHOICE(version, versions),
	CHOICE(scheduler, schedulers),
	CHOICE(arithmetic, units),
};

static const struct number numbers[] = {
	NUMBER(struct options, limit, 1, U32_MAX),
	NUMBER(struct options, memlimit, 1, U32_MAX),
	NUMBER(struct options, target, 0, S64_MAX),
	NUMBER(struct options, tupdate, 1000, S64_MAX / 2),
	NUMBER(struct options, alpha, 1, S32_MAX),
	NUMBER(struct options, beta, 1, S32_MAX),
	NUMBER(struct options, step_ns, 0, S64_MAX),
	NUMBER(struct options, step_packets, 0, U32_MAX),
	NUMBER(struct options, min_qlen_step, 0, U32_MAX),
	NUMBER(struct options, step_at_dequeue, 0, 1),
	NUMBER(struct options, coupling_factor, 1, U8_MAX),
	NUMBER(struct options, any_ect, 0, 1),
	NUMBER(struct options, drop_on_overload, 0, 1),
	NUMBER(struct options, l_drop, 0, 100),
	NUMBER(struct options, drop_enqueue, 0, 1),
	NUMBER(struct options, classic_protection, 0, 100),
	NUMBER(struct options, wrr_ratio, 0, U32_MAX),
	NUMBER(struct options, tshift, 0, S64_MAX / 2),
	NUMBER(struct options, tspeed, 0, 32),
	NUMBER(struct options, jiffies, 0, 1),
	NUMBER(struct options, reset_interval, 1, S64_MAX / 2),
	NUMBER(struct options, split_gso, 0, 1),
};

static const struct options defaults = {
	.version		= LINUX,
	.scheduler		= CREDIT,
	.arithmetic		= DIV64,
	.limit			= 10000,
	.memlimit		= NO_NUMBER,
	.target			= 15 * NSEC_PER_MSEC,
	.tupdate		= 16 * NSEC_PER_MSEC,
	.alpha			= 41,
	.beta			= 819,
	.step_ns		= NSEC_PER_MSEC,
	.step_packets		= NO_NUMBER,
	.coupling_factor	= 2,
	.drop_on_overload	= 1,
	.l_drop			= NO_NUMBER,
	.classic_protection	= 10,
	.wrr_ratio		= 16,
	.tshift			= NO_NUMBER,
	.reset_interval		= NO_NUMBER,
	.split_gso		= 1,
};

/* Stores one option. Returns 0 if the option exists and its value is within its range. */
static int take_option(void *options, const char *name, char *value)
{
	int i, word;

	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		if (strcmp(name, choices[i].name))
			continue;
		word = match_string(choices[i].words, choices[i].count, value);
		*(int *)((char *)options + choices[i].at) = word;
		return word < 0 ? -EINVAL : 0;
	}
	return take_number(numbers, ARRAY_SIZE(numbers), options, name, value);
}

/* --- state -------------------------------------------------------------------------------- */

enum { L, C, QUEUES };

struct dualpi2 {
	struct qdisc_skb_head queue[QUEUES];
	u64	head_ts[QUEUES];	/* when the head arrived; 0: empty */
	struct options o;
	u64	tupdate;		/* ns, as set in the timer */
	u32	memory_limit;
	u8	ecn_mask;		/* ECN fields of the packets of L */
	bool	before_refactoring;

	/* controller */
	struct hrtimer timer;
	struct Qdisc *sch;
	s64	alpha;			/* in the unit of the arithmetic */
	s64	beta;
	s64	last;			/* delay at the last update, in that unit */
	u32	prob;
	u64	next_reset;

	/* scheduler */
	s64	credit;
	s64	credit_init;
	s64	wl;			/* cost of a byte of C (wrr-percent) */
	u32	served;			/* packets of L since the last packet of C */

	/* statistics */
	u32	packets[QUEUES];
	u32	maxq;
	u32	marks;
	u32	step_marks;
	u32	memory_used;
	u32	max_memory_used;

	struct late late;
};

/* struct tc_dualpi2_xstats of Linux 6.17. */
struct dualpi2_xstats {
	u32	prob;
	u32	delay_c;		/* us */
	u32	delay_l;
	u32	packets_in_c;
	u32	packets_in_l;
	u32	maxq;
	u32	ecn_mark;		/* includes step_marks */
	u32	step_marks;
	s32	credit;			/* or packets of L since the last packet of C */
	u32	memory_used;
	u32	max_memory_used;
	u32	memory_limit;
};

struct dualpi2_cb {
	u64	ts;
	u8	ecn;
	u8	class;
	bool	noted;			/* min_qlen_step packets were in L on arrival */
};

static struct dualpi2_cb *cb_of(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct dualpi2_cb));
	return (struct dualpi2_cb *)qdisc_skb_cb(skb)->data;
}

static u32 mtu_of(const struct Qdisc *sch)
{
	return clamp_t(u32, psched_mtu(qdisc_dev(sch)), 1, 1 << 20);
}

static u32 queued(const struct dualpi2 *q)
{
	return q->queue[L].qlen + q->queue[C].qlen;
}

/* --- controller --------------------------------------------------------------------------- */

static s64 scale_gain(const struct dualpi2 *q, u64 param)
{
	switch (q->o.arithmetic) {
	case TICKS:
		return (param * (ONE / TICKS_PER_SEC)) >> PARTS;
	case NANOSECONDS:
		return (param * (ONE / (u32)NSEC_PER_SEC)) >> PARTS;
	default:
		/* 64ths of a unit per ns, so that a gain of 1/256 Hz is not 0. */
		return div_u64(param * ONE >> (PARTS - TICK_SHIFT), NSEC_PER_SEC);
	}
}

static s64 in_unit(const struct dualpi2 *q, u64 ns)
{
	return q->o.arithmetic == TICKS ? ns >> TICK_SHIFT : ns;
}

/* The result has 32 bits, so a change of p by more than 1 wraps, as in the
 * original. */
static u32 scale_delta(const struct dualpi2 *q, u64 delta)
{
	switch (q->o.arithmetic) {
	case DIV64:
		return delta >> TICK_SHIFT;
	case DIV127:
		return div_u64(delta, 127);
	default:
		return delta;
	}
}

static bool has_l_drop(const struct dualpi2 *q)
{
	return q->o.l_drop != NO_NUMBER;
}

static bool overflows(const struct dualpi2 *q)
{
	return has_l_drop(q) ? !q->o.l_drop : !q->o.drop_on_overload;
}

static void update(struct dualpi2 *q, u64 delay)
{
	s64 now = in_unit(q, delay), delta;
	u32 before = q->prob, prob;

	delta = (now - in_unit(q, q->o.target)) * q->alpha + (now - q->last) * q->beta;
	q->last = now;
	if (delta > 0) {
		prob = before + scale_delta(q, delta);
		if (prob < before)
			prob = ONE;
	} else {
		prob = before - scale_delta(q, -(u64)delta);
		if (prob > before)
			prob = 0;
	}
	/* While the buffer overflows, limit p so that the marking probability of L is
	 * at most 1. C and L then still share the link fairly. */
	if (overflows(q))
		prob = min_t(u32, prob, ONE / (u32)q->o.coupling_factor);
	WRITE_ONCE(q->prob, prob);
}

static u64 head_delay(const struct dualpi2 *q, int class, u64 now)
{
	u64 ts = READ_ONCE(q->head_ts[class]);

	return ts ? now - ts : 0;
}

static void update_at(struct Qdisc *sch, u64 now)
{
	struct dualpi2 *q = qdisc_priv(sch);

	if (q->o.reset_interval != NO_NUMBER && now >= q->next_reset) {
		/* The original versions reset this value together with the statistics: the next
		 * update then treats the whole delay as growth. */
		q->last = 0;
		q->next_reset = now + q->o.reset_interval;
	}
	update(q, max(head_delay(q, L, now), head_delay(q, C, now)));
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct dualpi2 *q = container_of(timer, struct dualpi2, timer);

	return update_on_timer(timer, q->sch, q->tupdate, update_at);
}

/* --- one packet --------------------------------------------------------------------------- */

static bool roll(const struct dualpi2 *q, u64 prob)
{
	/* Linux compares with <=, and the versions before the refactoring compared with <. */
	return get_random_u32() < prob + !q->before_refactoring;
}

static bool roll_squared(const struct dualpi2 *q)
{
	return roll(q, q->prob) && roll(q, q->prob);
}

static bool mark(struct dualpi2 *q, struct sk_buff *skb)
{
	struct dualpi2_cb *cb = cb_of(skb);

	if (cb->ecn == INET_ECN_CE || !INET_ECN_set_ce(skb))
		return false;
	cb->ecn = INET_ECN_CE;
	WRITE_ONCE(q->marks, q->marks + 1);
	return true;
}

/* Marks the packet with the probability that follows from p. Returns whether to
 * keep it. */
static bool survives(struct Qdisc *sch, struct sk_buff *skb)
{
	struct dualpi2 *q = qdisc_priv(sch);
	u64 coupled = (u64)q->prob * q->o.coupling_factor;
	struct dualpi2_cb *cb = cb_of(skb);
	bool overload;

	/* A queue of less than two frames is not a standing queue, so its
	 * packets are neither marked nor dropped. */
	if (sch->qstats.backlog < 2 * mtu_of(sch))
		return true;
	if (overflows(q))
		overload = false;
	else
		overload = coupled > (has_l_drop(q) ? q->o.l_drop * (ONE / 100) : ONE);

	if (cb->class == C) {
		if (!roll_squared(q))
			return true;
		if (overload || cb->ecn == INET_ECN_NOT_ECT)
			return false;
		mark(q, skb);
		return true;
	}
	if (!overload) {
		if (roll(q, coupled))
			mark(q, skb);
		return true;
	}
	if (roll_squared(q))
		return false;
	/* Linux marks the packets that are not dropped. Earlier versions let them pass
	 * unmarked. */
	if (!has_l_drop(q))
		mark(q, skb);
	return true;
}

static void step(struct dualpi2 *q, struct sk_buff *skb, u64 now)
{
	struct dualpi2_cb *cb = cb_of(skb);
	u32 left = q->queue[L].qlen;
	u64 sojourn = now - cb->ts;
	bool in_packets = q->o.step_packets != NO_NUMBER;
	bool above, applies;

	if (in_packets)
		above = left > q->o.step_packets;
	else if (q->before_refactoring)
		/* These versions shifted instead of dividing, so they compared units of 1024
		 * ns with microseconds. */
		above = sojourn >> 10 > div_u64(q->o.step_ns, NSEC_PER_USEC);
	else
		above = sojourn > q->o.step_ns;
	if (q->o.step_at_dequeue)
		applies = left >= q->o.min_qlen_step || in_packets;
	else
		applies = cb->noted;
	if (above && applies && mark(q, skb))
		WRITE_ONCE(q->step_marks, q->step_marks + 1);
}

/* --- schedulers --------------------------------------------------------------------------- */

static void weigh(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);
	s32 wc = q->o.classic_protection;

	if (q->o.scheduler == PERCENT) {
		/* If the share of C is 0, C is not served while L has packets. */
		q->wl = wc ? 100 / wc - 1 : 1LL << 32;
		q->credit_init = (s64)mtu_of(sch) * (1 - q->wl);
	} else {
		q->credit_init = (s64)mtu_of(sch) * (2 * wc - 100);
	}
	q->credit = q->credit_init;
}

static int pick_by_percent(struct dualpi2 *q)
{
	struct sk_buff *l = q->queue[L].head, *c = q->queue[C].head;

	if (l && q->credit <= 0) {
		q->credit += qdisc_pkt_len(l);
		return L;
	}
	if (c) {
		if (q->credit > 0)
			q->credit -= (s64)qdisc_pkt_len(c) * q->wl;
		return C;
	}
	return l ? L : -1;
}

static bool l_is_earlier(struct dualpi2 *q, u64 now)
{
	u64 delay = head_delay(q, L, now);

	if (q->o.scheduler == COUNTER && q->served < q->o.wrr_ratio)
		return true;
	if (q->o.tshift == NO_NUMBER)
		return false;
	/* The shifted delay would overflow 64 bits, so it is longer than any
	 * delay of C. */
	if (delay >> (62 - q->o.tspeed))
		return true;
	return q->o.tshift + (delay << q->o.tspeed) >= head_delay(q, C, now);
}

/* Returns the queue to serve, or -1. */
static int pick(struct dualpi2 *q, u64 now)
{
	bool l = q->queue[L].qlen, c = q->queue[C].qlen;
	int class;

	if (q->o.scheduler == PERCENT)
		return pick_by_percent(q);
	if (!l || !c)
		class = l ? L : c ? C : -1;
	else if (q->o.scheduler == CREDIT)
		class = q->credit <= 0 ? L : C;
	else
		class = l_is_earlier(q, now) ? L : C;
	/* Count packets of L even if C is empty. */
	if (class == L && q->served < U32_MAX)
		q->served++;
	else if (class == C)
		q->served = 0;
	return class;
}

/* Updates the credit after a packet was sent. A packet that is dropped instead does not change the
 * credit, and neither does a packet while the other queue is empty. */
static void sent(struct dualpi2 *q, int class, u32 len, bool contended)
{
	s32 wc = q->o.classic_protection;

	if (q->o.scheduler == CREDIT && contended)
		q->credit += (s64)len * (class == L ? wc : wc - 100);
}

static void start_anew(struct dualpi2 *q)
{
	q->credit = q->credit_init;
	q->served = 0;
}

/* --- queues ------------------------------------------------------------------------------- */

static u8 ecn_of(struct sk_buff *skb)
{
	int end = skb_network_offset(skb);
	bool ipv4 = skb_protocol(skb, true) == htons(ETH_P_IP);

	if (!ipv4 && skb_protocol(skb, true) != htons(ETH_P_IPV6))
		return INET_ECN_NOT_ECT;
	end += ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	/* A packet that cannot be written is treated as not ECN-capable,
	 * because it cannot be marked. */
	if (!pskb_may_pull(skb, end) || skb_try_make_writable(skb, end))
		return INET_ECN_NOT_ECT;
	return (ipv4 ? ipv4_get_dsfield(ip_hdr(skb)) : ipv6_get_dsfield(ipv6_hdr(skb))) &
	       INET_ECN_MASK;
}

static int enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct dualpi2 *q = qdisc_priv(sch);
	struct dualpi2_cb *cb = cb_of(skb);
	int class = cb->class;

	if (queued(q) >= sch->limit || (u64)q->memory_used + skb->truesize > q->memory_limit) {
		qdisc_qstats_overlimit(sch);
		return qdisc_drop(skb, sch, to_free);
	}
	if (q->o.drop_enqueue && !survives(sch, skb)) {
		qdisc_drop(skb, sch, to_free);
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	cb->ts = ktime_get_ns();
	cb->noted = class == L && q->queue[L].qlen >= q->o.min_qlen_step;
	if (!q->queue[class].qlen)
		WRITE_ONCE(q->head_ts[class], cb->ts);
	WRITE_ONCE(q->memory_used, q->memory_used + skb->truesize);
	WRITE_ONCE(q->max_memory_used, max(q->max_memory_used, q->memory_used));
	WRITE_ONCE(q->maxq, max(q->maxq, queued(q)));
	WRITE_ONCE(q->packets[class], q->packets[class] + 1);
	__qdisc_enqueue_tail(skb, &q->queue[class]);
	WRITE_ONCE(sch->q.qlen, sch->q.qlen + 1);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *take(struct Qdisc *sch, int class)
{
	struct dualpi2 *q = qdisc_priv(sch);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->queue[class]);
	struct sk_buff *head = q->queue[class].head;

	WRITE_ONCE(q->head_ts[class], head ? cb_of(head)->ts : 0);
	WRITE_ONCE(q->memory_used, q->memory_used - skb->truesize);
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - 1);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* Splits a GSO packet into its segments. */
static int enqueue_split(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segments = skb_gso_segment(skb, features), *segment, *next;
	struct dualpi2_cb whole = *cb_of(skb);
	int count = 0, outcome = NET_XMIT_DROP;
	u32 len = qdisc_pkt_len(skb);

	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = segment->len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
		qdisc_skb_cb(segment)->pkt_segs = 1;
#endif
		*cb_of(segment) = whole;
		outcome = enqueue_one(segment, sch, to_free);
		if (outcome == NET_XMIT_SUCCESS) {
			len -= segment->len;
			count++;
		}
	}
	/* The parent qdiscs count one packet of the full length, so correct their counts by the
	 * difference. */
	if (count)
		qdisc_tree_reduce_backlog(sch, 1 - count, len);
	consume_skb(skb);
	return count ? NET_XMIT_SUCCESS : outcome;
}

static int dualpi2_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct dualpi2 *q = qdisc_priv(sch);
	struct dualpi2_cb *cb = cb_of(skb);

	cb->ecn = ecn_of(skb);
	cb->class = cb->ecn & q->ecn_mask ? L : C;
	if (q->o.split_gso && skb_is_gso(skb))
		return enqueue_split(skb, sch, to_free);
	return enqueue_one(skb, sch, to_free);
}

static struct sk_buff *dualpi2_dequeue(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL;
	u64 now = ktime_get_ns();
	int class;

	while ((class = pick(q, now)) >= 0) {
		bool contended = q->queue[class == L ? C : L].qlen;

		skb = take(sch, class);
		if (q->o.drop_enqueue || survives(sch, skb)) {
			if (class == L)
				step(q, skb, now);
			sent(q, class, qdisc_pkt_len(skb), contended);
			qdisc_bstats_update(sch, skb);
			break;
		}
		drop_late(sch, &q->late, skb);
		skb = NULL;
	}
	if (class < 0)
		start_anew(q);
	tell_parents(sch, &q->late);
	return skb;
}

/* --- the qdisc ---------------------------------------------------------------------------- */

static int dualpi2_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct dualpi2 *q = qdisc_priv(sch);
	u64 memory, first;
	int err;

	/* Set up the timer before anything that can fail, because destroy()
	 * cancels it. */
	hrtimer_setup(&q->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	q->sch = sch;
	q->o = defaults;
	err = read_options(opt, extack, take_option, &q->o);
	if (err && err != -ENODATA)
		return err;
	sch->limit = q->o.limit;
	q->before_refactoring = q->o.version > REFACTORED;
	q->tupdate = q->o.jiffies ? DIV64_U64_ROUND_UP(q->o.tupdate, JIFFY) * JIFFY : q->o.tupdate;
	q->alpha = scale_gain(q, q->o.alpha);
	q->beta = scale_gain(q, q->o.beta);
	q->ecn_mask = q->o.any_ect ? INET_ECN_ECT_1 | INET_ECN_ECT_0 : INET_ECN_ECT_1;
	/* Only Linux's version has a memory limit by default. */
	memory = q->o.version == LINUX ? 2 * q->o.limit * mtu_of(sch) : U32_MAX;
	if (q->o.memlimit != NO_NUMBER)
		memory = q->o.memlimit;
	q->memory_limit = min_t(u64, memory, U32_MAX);
	weigh(sch);
	first = q->before_refactoring ? NSEC_PER_SEC / 2 : q->tupdate;
	start_updates(&q->timer, first);
	return 0;
}

static int dualpi2_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct dualpi2 *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	s64 state = q->o.scheduler == CREDIT || q->o.scheduler == PERCENT ? q->credit : q->served;
	struct dualpi2_xstats st = {
		.prob			= READ_ONCE(q->prob),
		.delay_c		= div_u64(head_delay(q, C, now), NSEC_PER_USEC),
		.delay_l		= div_u64(head_delay(q, L, now), NSEC_PER_USEC),
		.packets_in_c		= READ_ONCE(q->packets[C]),
		.packets_in_l		= READ_ONCE(q->packets[L]),
		.maxq			= READ_ONCE(q->maxq),
		.ecn_mark		= READ_ONCE(q->marks),
		.step_marks		= READ_ONCE(q->step_marks),
		.credit			= clamp_t(s64, state, S32_MIN, S32_MAX),
		.memory_used		= READ_ONCE(q->memory_used),
		.max_memory_used	= READ_ONCE(q->max_memory_used),
		.memory_limit		= READ_ONCE(q->memory_limit),
	};

	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void dualpi2_reset(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);
	int class;

	for (class = L; class < QUEUES; class++) {
		struct qdisc_skb_head *queue = &q->queue[class];

		if (queue->head)
			rtnl_kfree_skbs(queue->head, queue->tail);
		queue->head = NULL;
		queue->tail = NULL;
		queue->qlen = 0;
		q->head_ts[class] = 0;
		q->packets[class] = 0;
	}
	q->prob = 0;
	q->last = 0;
	q->maxq = 0;
	q->marks = 0;
	q->step_marks = 0;
	q->memory_used = 0;
	q->max_memory_used = 0;
	memset(&q->late, 0, sizeof(q->late));
	start_anew(q);
}

static void dualpi2_destroy(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);

	hrtimer_cancel(&q->timer);
}

static struct Qdisc_ops dualpi2_qdisc_ops __read_mostly = {
	.id		= "dualpi2_2019",
	.priv_size	= sizeof(struct dualpi2),
	.enqueue	= dualpi2_enqueue,
	.dequeue	= dualpi2_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= dualpi2_init,
	.destroy	= dualpi2_destroy,
	.reset		= dualpi2_reset,
	.dump		= dump_nothing,
	.dump_stats	= dualpi2_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init dualpi2_start(void)
{
	return register_qdisc(&dualpi2_qdisc_ops);
}

static void __exit dualpi2_stop(void)
{
	unregister_qdisc(&dualpi2_qdisc_ops);
}

module_init(dualpi2_start)
module_exit(dualpi2_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("DualPI2 of 2018 and 2019");
