/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the impairments in this folder share: which packets an impairment applies to,
 * and when.
 *
 * The licence is in ../patches/COPYING.
 */
#ifndef TAILBACK_IMPAIR_PACKET_H
#define TAILBACK_IMPAIR_PACKET_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/ipv6.h>

/* The TCP segment in a packet. */
struct segment {
	struct in6_addr from;
	struct in6_addr to;
	__be16	ports[2];
	u32	payload;
	bool	ack;
	bool	syn;
};

/* Reads the segment of an IPv4 packet, or of an IPv6 packet without extension headers. Returns
 * false for other packets. */
static inline bool read_segment(const struct sk_buff *skb, struct segment *segment)
{
	int at = skb_network_offset(skb);
	u32 length, header;
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
		struct tcphdr tcp;
	} copy;
	const struct tcphdr *tcp;

	switch (skb->protocol) {
	case htons(ETH_P_IP): {
		const struct iphdr *ip = skb_header_pointer(skb, at, sizeof(*ip), &copy.v4);

		if (!ip || ip->protocol != IPPROTO_TCP || ip->frag_off & htons(0x1fff))
			return false;
		ipv6_addr_set_v4mapped(ip->saddr, &segment->from);
		ipv6_addr_set_v4mapped(ip->daddr, &segment->to);
		header = ip->ihl * 4;
		length = ntohs(ip->tot_len);
		break;
	}
	case htons(ETH_P_IPV6): {
		const struct ipv6hdr *ip = skb_header_pointer(skb, at, sizeof(*ip), &copy.v6);

		if (!ip || ip->nexthdr != IPPROTO_TCP)
			return false;
		segment->from = ip->saddr;
		segment->to = ip->daddr;
		header = sizeof(*ip);
		length = header + ntohs(ip->payload_len);
		break;
	}
	default:
		return false;
	}
	tcp = skb_header_pointer(skb, at + header, sizeof(*tcp), &copy.tcp);
	if (!tcp)
		return false;
	header += tcp->doff * 4;
	segment->ports[0] = tcp->source;
	segment->ports[1] = tcp->dest;
	segment->payload = length > header ? length - header : 0;
	segment->ack = tcp->ack;
	segment->syn = tcp->syn;
	return true;
}

/* Returns whether a packet is a pure ACK. */
static inline bool is_ack(const struct sk_buff *skb, struct segment *segment)
{
	return read_segment(skb, segment) && segment->ack && !segment->payload;
}

/* The packets to which an impairment applies, and whether it is active. */
struct scope {
	enum { ALL_PACKETS, ONLY_DATA, ONLY_ACKS } only;
	bool	idle;
};

/* Reads "only data", "only acks", "active 0" and "active 1". */
static inline int take_scope(struct scope *scope, const char *name, const char *value)
{
	bool active;

	if (!strcmp(name, "active")) {
		if (kstrtobool(value, &active))
			return -EINVAL;
		scope->idle = !active;
		return 0;
	}
	if (strcmp(name, "only"))
		return -EINVAL;
	if (!strcmp(value, "data"))
		scope->only = ONLY_DATA;
	else if (!strcmp(value, "acks"))
		scope->only = ONLY_ACKS;
	else
		return -EINVAL;
	return 0;
}

static inline bool concerns(const struct scope *scope, const struct sk_buff *skb)
{
	struct segment segment;

	if (scope->idle)
		return false;
	return scope->only == ALL_PACKETS ||
	       is_ack(skb, &segment) == (scope->only == ONLY_ACKS);
}

#endif
