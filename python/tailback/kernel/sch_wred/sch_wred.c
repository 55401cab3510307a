// SPDX-License-Identifier: GPL-2.0
/*
 * wred: one FIFO with two RED curves, chosen by the ECN field of a packet.
 *
 * Follows section IV of "Using Data Center TCP (DCTCP) in the Internet" (Kuehlewind, Wagner, Reyes
 * Espinosa, Briscoe, 2014). One curve marks ECN-capable packets, and the other curve drops all
 * other packets. Both curves use the average length of the whole queue. Packets are selected as in
 * Linux's RED (include/net/red.h). When the average enters the band between min and max, the next
 * packet passes and starts a count. With "uniformise linux", a packet is marked or dropped once
 * count * probability reaches a random number, which is drawn again after each mark or drop.
 *
 * Deviations from Linux's RED:
 * - The weight is any fraction with 32 binary digits, not only a power of two. With a weight of 1,
 *   the average is the current queue length. Averages have 24 binary digits after the point.
 * - Queue lengths are in bytes or packets. The gaps between marks may also be geometric ("none"),
 *   or like those of ns-2's option wait_ ("wait"). gentle and include_arriving are options.
 * - For an idle time, the average is multiplied by (1 - weight) for each packet that could have
 *   been sent. For a fraction of a packet, it is interpolated linearly. htb does not call dequeue
 *   on an empty queue. The idle time therefore begins when the last packet has been sent. This time
 *   is computed from the link's rate, which is an option.
 *
 * A GSO packet counts as one packet. The licence is in ../patches/COPYING.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>

#include "qdisc.h"

#define ONE (1ULL << 32)	/* a probability or weight of 1 */
#define AVG_DIGITS 24		/* binary digits of an average */

enum uniformise { LINUX, WAIT, NONE };

static const char *const uniformise_names[] = { "linux", "wait", "none" };

struct curve {
	u32	min, max;
	u64	probability, weight;	/* of ONE */
	bool	packets, gentle, include_arriving;
	enum uniformise uniformise;
	u64	avg;			/* AVG_DIGITS binary digits */
	s64	count;			/* packets since last mark or drop; -1 outside band */
	u32	draw;			/* random number for count * probability, of ONE */
};

/* Statistics that tailback reads, in the order of aqm/wred/kernel.rs. */
struct wred_xstats {
	u32	prob_mark;
	u32	forced_mark;
	u32	prob_drop;
	u32	forced_drop;
	u32	overflow;
	u32	probability[2];		/* of ONE, at most ONE - 1 */
	u32	avg_bytes[2];		/* only set if both curves count bytes */
};

enum { ECN, CLASSIC };

struct wred_data {
	struct curve curve[2];
	u32	limit;
	bool	limit_packets;
	bool	own_arrivals;	/* a curve's average only counts packets of its class */
	bool	decays;
	u64	packet_ps;	/* duration of a packet, for idle times, 1e-12 s */
	u64	rate;		/* of the link, bit/s */
	u64	busy_until;	/* ns: until then, the link sends the last packet */
	u64	idle_since;	/* ns; 0: packets are queued */
	struct wred_xstats stats;
};

/* The state of the queue when a packet arrives. */
struct arrival {
	u32	packets, bytes, len;
	u64	idle;		/* idle time that ends now, ns; 0 if none ends or counts */
};

/* Returns the average multiplied by (1 - weight)^(idle / packet time). */
static u64 decayed(const struct wred_data *q, const struct curve *c, u64 idle)
{
	u64 idle_ps = min_t(u64, idle, U64_MAX / 1000) * 1000;
	u64 rest, left, whole = div64_u64_rem(idle_ps, q->packet_ps, &rest);
	u64 factor = ONE - c->weight, avg = c->avg;

	if (!factor)
		return 0;
	for (; whole && avg; whole >>= 1) {
		if (whole & 1)
			avg = mul_u64_u32_shr(avg, factor, 32);
		factor = factor * factor >> 32;
	}
	/* The remaining fraction of a packet time, with 16 binary digits. */
	left = q->packet_ps >> 16 ? div64_u64(rest, q->packet_ps >> 16) :
				    div64_u64(rest << 16, q->packet_ps);
	left = min_t(u64, left, 1 << 16);
	return avg - mul_u64_u32_shr(avg, c->weight * left >> 17, 31);
}

static void update(const struct wred_data *q, struct curve *c, const struct arrival *a)
{
	u64 sample;
	s64 off;

	if (a->idle) {
		c->avg = decayed(q, c, a->idle);
		return;
	}
	sample = c->packets ? a->packets + c->include_arriving :
			      a->bytes + c->include_arriving * (u64)a->len;
	sample <<= AVG_DIGITS;
	if (c->weight == ONE) {
		c->avg = sample;
		return;
	}
	off = sample - c->avg;
	if (off >= 0)
		c->avg += mul_u64_u32_shr(off, c->weight, 32);
	else
		c->avg -= mul_u64_u32_shr(-off, c->weight, 32);
}

/* Returns the fraction x / span of `of`, by linear interpolation. */
static u64 part(u64 x, u32 span, u64 of)
{
	u64 share = div64_u64(x << (32 - AVG_DIGITS), span);

	return share >= ONE ? of : share * of >> 32;
}

/* Returns the probability before the rule for gaps is applied, as a fraction of ONE. */
static u64 probability(const struct curve *c)
{
	u64 min = (u64)c->min << AVG_DIGITS, max = (u64)c->max << AVG_DIGITS;

	if (c->avg < min)
		return 0;
	if (c->avg < max)
		return part(c->avg - min, c->max - c->min, c->probability);
	if (c->gentle && c->avg < 2 * max)
		return c->probability + part(c->avg - max, c->max, ONE - c->probability);
	return ONE;
}

static bool chance(u64 probability)
{
	return get_random_u32() < probability;
}

enum verdict { PASS, EARLY, FORCED };

static enum verdict decide(struct curve *c)
{
	u64 max = (u64)c->max << AVG_DIGITS, pb, counted;
	bool hit;

	if (c->avg < (u64)c->min << AVG_DIGITS) {
		c->count = -1;
		return PASS;
	}
	if (c->avg >= (c->gentle ? 2 * max : max)) {
		c->count = -1;
		return FORCED;
	}
	pb = probability(c);
	c->count++;
	if (c->uniformise != NONE && !c->count) {
		c->draw = get_random_u32();
		return PASS;
	}
	counted = min_t(u64, c->count, U32_MAX) * pb;
	switch (c->uniformise) {
	case LINUX:
		hit = pb && counted >= c->draw;
		break;
	case WAIT:
		if (counted < ONE)
			hit = false;
		else if (counted < 2 * ONE)
			hit = chance(pb >= 2 * ONE - counted ? ONE :
				     div64_u64(pb << 31, 2 * ONE - counted) << 1);
		else
			hit = true;
		break;
	default:
		hit = chance(pb);
	}
	if (!hit)
		return PASS;
	c->count = 0;
	if (c->uniformise == LINUX)
		c->draw = get_random_u32();
	return EARLY;
}

/* The queue is empty, so an idle time begins when the link has sent the last
 * packet. */
static void begin_idle(struct wred_data *q, u64 now)
{
	q->idle_since = max(now, q->busy_until);
}

static int wred_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wred_data *q = qdisc_priv(sch);
	bool capable = ecn_field(skb) != INET_ECN_NOT_ECT;
	struct curve *own = &q->curve[capable ? ECN : CLASSIC];
	struct curve *other = &q->curve[capable ? CLASSIC : ECN];
	struct arrival arrival = {
		.packets = sch->q.qlen,
		.bytes = sch->qstats.backlog,
		.len = qdisc_pkt_len(skb),
	};
	u64 now = ktime_get_ns();
	enum verdict verdict;

	if (q->decays && q->idle_since && now > q->idle_since)
		arrival.idle = now - q->idle_since;
	q->idle_since = 0;
	update(q, own, &arrival);
	/* After an idle time, update both averages, regardless of the packet's class. */
	if (!q->own_arrivals || arrival.idle)
		update(q, other, &arrival);
	verdict = decide(own);
	if (verdict != PASS && !capable) {
		if (verdict == EARLY)
			q->stats.prob_drop++;
		else
			q->stats.forced_drop++;
		if (!sch->q.qlen)
			begin_idle(q, now);
		qdisc_drop(skb, sch, to_free);
		return NET_XMIT_CN;
	}
	if (!has_room(sch, q->limit, q->limit_packets, arrival.len)) {
		q->stats.overflow++;
		if (!sch->q.qlen)
			begin_idle(q, now);
		return qdisc_drop(skb, sch, to_free);
	}
	if (verdict != PASS && INET_ECN_set_ce(skb)) {
		if (verdict == EARLY)
			q->stats.prob_mark++;
		else
			q->stats.forced_mark++;
	}
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *wred_dequeue(struct Qdisc *sch)
{
	struct wred_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb) {
		u64 now = ktime_get_ns();

		q->busy_until = now + div64_u64(8ULL * NSEC_PER_SEC * qdisc_pkt_len(skb), q->rate);
		if (!sch->q.qlen)
			begin_idle(q, now);
	}
	return skb;
}

static void forget(struct wred_data *q)
{
	int i;

	for (i = 0; i < 2; i++) {
		q->curve[i].avg = 0;
		q->curve[i].count = -1;
	}
	q->busy_until = 0;
	begin_idle(q, ktime_get_ns());
}

static void wred_reset(struct Qdisc *sch)
{
	qdisc_reset_queue(sch);
	forget(qdisc_priv(sch));
}

static int read_fraction(const char *value, u64 *fraction)
{
	int error = kstrtou64(value, 10, fraction);

	return error ? error : *fraction > ONE ? -ERANGE : 0;
}

static int read_curve(struct curve *c, const char *name, char *value)
{
	bool packets;
	int error;

	if (!strcmp(name, "min"))
		return read_length(value, &c->min, &c->packets);
	if (!strcmp(name, "max")) {
		error = read_length(value, &c->max, &packets);
		return error ? error : packets != c->packets ? -EINVAL : 0;
	}
	if (!strcmp(name, "probability"))
		return read_fraction(value, &c->probability);
	if (!strcmp(name, "weight"))
		return read_fraction(value, &c->weight);
	if (!strcmp(name, "gentle"))
		return kstrtobool(value, &c->gentle);
	if (!strcmp(name, "include_arriving"))
		return kstrtobool(value, &c->include_arriving);
	if (!strcmp(name, "uniformise")) {
		error = match_string(uniformise_names, ARRAY_SIZE(uniformise_names), value);
		if (error < 0)
			return error;
		c->uniformise = error;
		return 0;
	}
	return -EINVAL;
}

static int take_option(void *data, const char *name, char *value)
{
	struct wred_data *q = data;

	if (!strncmp(name, "ecn_", 4))
		return read_curve(&q->curve[ECN], name + 4, value);
	if (!strncmp(name, "classic_", 8))
		return read_curve(&q->curve[CLASSIC], name + 8, value);
	if (!strcmp(name, "limit"))
		return read_length(value, &q->limit, &q->limit_packets);
	if (!strcmp(name, "packet_ps"))
		return kstrtou64(value, 10, &q->packet_ps);
	if (!strcmp(name, "rate"))
		return kstrtou64(value, 10, &q->rate);
	if (!strcmp(name, "average") && (!strcmp(value, "class") || !strcmp(value, "arrival")))
		q->own_arrivals = value[0] == 'c';
	else if (!strcmp(name, "idle") && (!strcmp(value, "decay") || !strcmp(value, "hold")))
		q->decays = value[0] == 'd';
	else
		return -EINVAL;
	return 0;
}

static bool is_complete(const struct wred_data *q)
{
	int i;

	for (i = 0; i < 2; i++) {
		const struct curve *c = &q->curve[i];

		if (c->min > c->max || !c->max || c->max > S32_MAX || !c->weight)
			return false;
	}
	return q->limit && q->packet_ps && q->rate;
}

static int wred_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wred_data *q = qdisc_priv(sch);
	int error = read_options(opt, extack, take_option, q);

	if (!error && !is_complete(q))
		error = -EINVAL;
	forget(q);
	return error;
}

static int wred_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct wred_data *q = qdisc_priv(sch);
	bool bytes = true;
	int i;

	for (i = 0; i < 2; i++) {
		const struct curve *c = &q->curve[i];

		q->stats.probability[i] = min_t(u64, probability(c), U32_MAX);
		q->stats.avg_bytes[i] = min_t(u64, c->avg >> AVG_DIGITS, U32_MAX);
		bytes = bytes && !c->packets;
	}
	return gnet_stats_copy_app(d, &q->stats, bytes ? sizeof(q->stats) :
				   offsetof(struct wred_xstats, avg_bytes));
}

static struct Qdisc_ops wred_ops __read_mostly = {
	.id		= "wred",
	.priv_size	= sizeof(struct wred_data),
	.enqueue	= wred_enqueue,
	.dequeue	= wred_dequeue,
	.peek		= qdisc_peek_head,
	.init		= wred_init,
	.reset		= wred_reset,
	.dump_stats	= wred_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init wred_start(void)
{
	return register_qdisc(&wred_ops);
}

static void __exit wred_stop(void)
{
	unregister_qdisc(&wred_ops);
}

module_init(wred_start)
module_exit(wred_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("RED with one curve for ECN-capable packets and one for others");
MODULE_ALIAS("net-sch-wred");
