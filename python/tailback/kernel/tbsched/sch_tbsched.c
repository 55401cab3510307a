// SPDX-License-Identifier: (MIT OR Apache-2.0) AND GPL-2.0
/*
 * tbsched: a queue discipline that marks or drops data packets with given
 * numbers.
 *
 * A scenario may have a schedule that lists the numbers of the data packets to mark or to drop. In
 * the simulator, links apply this schedule. On the kernel engine, this module applies it. TCP
 * packets with payload over IPv4 are counted from 1. A packet that is scheduled for a mark but is
 * not ECN-capable is dropped. All other packets pass through a FIFO without delay.
 *
 * The sorted lists are parameters of the module, e.g. marks=3,17 drops=40, because tc cannot pass
 * options to a kind of queue discipline that it does not know.
 */
#include <linux/bsearch.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#define TBSCHED_MAX 4096

static unsigned int marks[TBSCHED_MAX];
static unsigned int n_marks;
module_param_array(marks, uint, &n_marks, 0444);
MODULE_PARM_DESC(marks, "numbers of the data packets to mark, ascending");

static unsigned int drops[TBSCHED_MAX];
static unsigned int n_drops;
module_param_array(drops, uint, &n_drops, 0444);
MODULE_PARM_DESC(drops, "numbers of the data packets to drop, ascending");

struct tbsched_data {
	unsigned int seen;
};

static int tbsched_compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a;
	unsigned int y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

static bool tbsched_listed(unsigned int number, const unsigned int *list, unsigned int n)
{
	return bsearch(&number, list, n, sizeof(*list), tbsched_compare) != NULL;
}

static bool tbsched_has_payload(struct sk_buff *skb)
{
	unsigned int at = skb_network_offset(skb);
	unsigned int header;
	struct iphdr ip_copy;
	const struct iphdr *ip;
	struct tcphdr tcp_copy;
	const struct tcphdr *tcp;

	ip = skb_header_pointer(skb, at, sizeof(ip_copy), &ip_copy);
	if (!ip || ip->version != 4 || ip->protocol != IPPROTO_TCP)
		return false;
	header = ip->ihl * 4;
	tcp = skb_header_pointer(skb, at + header, sizeof(tcp_copy), &tcp_copy);
	if (!tcp)
		return false;
	return ntohs(ip->tot_len) > header + tcp->doff * 4;
}

static int tbsched_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct tbsched_data *q = qdisc_priv(sch);

	if (tbsched_has_payload(skb)) {
		q->seen++;
		if (tbsched_listed(q->seen, drops, n_drops))
			return qdisc_drop(skb, sch, to_free);
		if (tbsched_listed(q->seen, marks, n_marks) && !INET_ECN_set_ce(skb))
			return qdisc_drop(skb, sch, to_free);
	}
	return qdisc_enqueue_tail(skb, sch);
}

static int tbsched_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct tbsched_data *q = qdisc_priv(sch);

	q->seen = 0;
	return 0;
}

static struct Qdisc_ops tbsched_ops __read_mostly = {
	.id		= "tbsched",
	.priv_size	= sizeof(struct tbsched_data),
	.enqueue	= tbsched_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= tbsched_init,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init tbsched_start(void)
{
	return register_qdisc(&tbsched_ops);
}

static void __exit tbsched_stop(void)
{
	unregister_qdisc(&tbsched_ops);
}

module_init(tbsched_start)
module_exit(tbsched_stop)
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Marks or drops packets by number");
MODULE_ALIAS("net-sch-tbsched");
