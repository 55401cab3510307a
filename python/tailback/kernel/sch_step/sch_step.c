// SPDX-License-Identifier: GPL-2.0
/*
 * step: one FIFO that marks every ECN-capable packet above one threshold.
 *
 * Follows RFC 8257 section 3.1 and tailback's simulator (crates/engine/src/aqm/step.rs). A
 * threshold in bytes or packets is compared with the queue that a packet finds on arrival, or with
 * what it leaves behind ("at_dequeue 1"). A threshold in time is compared with the sojourn time of
 * the packet as it leaves. Packets that are not ECN-capable pass, or are dropped.
 *
 * Options are text in one attribute, NAME VALUE ..., because tc does not know the kind. A GSO
 * packet counts as one. The licence is in ../patches/COPYING.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

enum { STEP_TEXT = 1, STEP_ATTRS };

enum unit { BYTES, PACKETS, NANOSECONDS };

/* What tailback reads: its order is that of aqm/step/kernel.rs. */
struct step_xstats {
	u32	marks;
	u32	drops;		/* above the threshold, not ECN-capable */
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

	/* dropped on the way out, not yet told to the parents */
	u32	late_drops;
	u32	late_bytes;
};

struct step_cb {
	u64	arrived;	/* ns */
};

static struct step_cb *cb_of(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct step_cb));
	return (struct step_cb *)qdisc_skb_cb(skb)->data;
}

static bool is_ecn_capable(const struct sk_buff *skb)
{
	const u8 *end = skb_tail_pointer(skb), *header = skb_network_header(skb);

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		return header + sizeof(struct iphdr) <= end &&
		       !INET_ECN_is_not_ect(ip_hdr(skb)->tos);
	case htons(ETH_P_IPV6):
		return header + sizeof(struct ipv6hdr) <= end &&
		       !INET_ECN_is_not_ect(ipv6_get_dsfield(ipv6_hdr(skb)));
	}
	return false;
}

/* Whether the packet, which is not in the queue, is above the threshold. */
static bool is_above(const struct step_data *q, const struct Qdisc *sch, struct sk_buff *skb)
{
	switch (q->unit) {
	case NANOSECONDS:
		return ktime_get_ns() - cb_of(skb)->arrived > q->threshold;
	case PACKETS:
		return sch->q.qlen + q->include_arriving > q->threshold;
	default:
		return sch->qstats.backlog + q->include_arriving * (u64)qdisc_pkt_len(skb) >
		       q->threshold;
	}
}

/* Marks what is above the threshold; whether the packet is still wanted. */
static bool survives(struct Qdisc *sch, struct sk_buff *skb)
{
	struct step_data *q = qdisc_priv(sch);

	if (!is_above(q, sch, skb))
		return true;
	if (!is_ecn_capable(skb)) {
		q->stats.drops += q->drop_not_ect;
		return !q->drop_not_ect;
	}
	if (INET_ECN_set_ce(skb))
		q->stats.marks++;
	return true;
}

static bool has_room(const struct step_data *q, const struct Qdisc *sch, u32 len)
{
	if (q->limit_packets)
		return sch->q.qlen < q->limit;
	return (u64)sch->qstats.backlog + len <= q->limit;
}

static int step_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct step_data *q = qdisc_priv(sch);

	if (!has_room(q, sch, qdisc_pkt_len(skb))) {
		q->stats.overflow++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (!q->at_dequeue && !survives(sch, skb)) {
		qdisc_drop(skb, sch, to_free);
		return NET_XMIT_CN;
	}
	cb_of(skb)->arrived = ktime_get_ns();
	return qdisc_enqueue_tail(skb, sch);
}

static void tell_parents(struct Qdisc *sch)
{
	struct step_data *q = qdisc_priv(sch);

	if (!q->late_drops)
		return;
	/* An htb of before 6.17 fails if its leaf becomes empty while it asks it for a packet. */
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0) && !sch->q.qlen)
		return;
	qdisc_tree_reduce_backlog(sch, q->late_drops, q->late_bytes);
	q->late_drops = 0;
	q->late_bytes = 0;
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
		q->late_drops++;
		q->late_bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
		kfree_skb(skb);
	}
	tell_parents(sch);
	return skb;
}

static void step_reset(struct Qdisc *sch)
{
	struct step_data *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	memset(&q->stats, 0, sizeof(q->stats));
	q->late_drops = 0;
	q->late_bytes = 0;
}

/* 1500b, 20p or 1000000n. */
static int read_size(char *value, u64 *size, enum unit *unit)
{
	size_t length = strlen(value);

	if (length < 2)
		return -EINVAL;
	switch (value[length - 1]) {
	case 'b':
		*unit = BYTES;
		break;
	case 'p':
		*unit = PACKETS;
		break;
	case 'n':
		*unit = NANOSECONDS;
		break;
	default:
		return -EINVAL;
	}
	value[length - 1] = '\0';
	return kstrtou64(value, 10, size);
}

static int read_option(struct step_data *q, const char *name, char *value)
{
	enum unit unit;
	u64 size;

	if (!strcmp(name, "limit")) {
		if (read_size(value, &size, &unit) || unit == NANOSECONDS || !size || size > U32_MAX)
			return -EINVAL;
		q->limit = size;
		q->limit_packets = unit == PACKETS;
		return 0;
	}
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

static const struct nla_policy policy[STEP_ATTRS] = {
	[STEP_TEXT] = { .type = NLA_NUL_STRING },
};

static int step_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct step_data *q = qdisc_priv(sch);
	struct nlattr *attrs[STEP_ATTRS];
	char *text, *rest, *name, *value;
	int error;

	if (!opt)
		return -EINVAL;
	error = nla_parse_nested_deprecated(attrs, STEP_TEXT, opt, policy, extack);
	if (error < 0)
		return error;
	if (!attrs[STEP_TEXT])
		return -EINVAL;
	text = nla_strdup(attrs[STEP_TEXT], GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	rest = text;
	while (!error && (name = strsep(&rest, " ")) != NULL) {
		value = strsep(&rest, " ");
		error = value ? read_option(q, name, value) : -EINVAL;
		if (error)
			pr_warn("step: option %s\n", name);
	}
	kfree(text);
	/* The sojourn time of a packet is known when it leaves. */
	if (!error && (!q->limit || (q->unit == NANOSECONDS && !q->at_dequeue)))
		error = -EINVAL;
	return error;
}

static int step_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	return nest ? nla_nest_end(skb, nest) : -EMSGSIZE;
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
	.dump		= step_dump,
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
