// SPDX-License-Identifier: GPL-2.0
/*
 * dctcp_2014: DCTCP of 2012 and 2014, ported to the current TCP stack of Linux.
 *
 * Follows the behaviour of the patch for Linux 2.6 and 3.2. It also has the four modifications of
 * "Using Data Center TCP (DCTCP) in the Internet" (Kuehlewind, Wagner, Reyes Espinosa, Briscoe,
 * 2014). Each modification has a parameter: (a) alpha_bits, (b) grow_in_cwr, (c) per_ack, (d)
 * reduction. The parameter `below` sets ssthresh below the reduced window. The parameters loss and
 * shift_decay select the behaviour of other kernels. As in tailback's simulator (cc/dctcp.rs),
 * parameters choose what alpha counts, when it is updated and how the window is reduced. The
 * parameters have the same names in the simulator.
 *
 * With reduction = 0, the stack reduces the window by PRR. For other values, this module sets the
 * window for every ACK (cong_control), and repairs losses by PRR as the stack does.
 *
 * The current stack differs from Linux 3.2 in ways that this module cannot
 * change: it detects losses by RACK, not by three duplicate ACKs; it reduces
 * the window in Recovery by PRR, not by rate halving; the receiver sends more
 * ACKs at the start; and with cong_control, PRR does not send when RACK's timer
 * fires. The receiver echoes CE packet by packet, with the pending delayed ACK
 * first, as in the patch (two states).
 *
 * The licence is in ../patches/COPYING.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

enum { PRR, IMMEDIATE, PROGRESSIVE };
enum { HALVE, RENO, ALPHA, NONE };

static unsigned int shift_g __read_mostly = 8;
module_param(shift_g, uint, 0444);
MODULE_PARM_DESC(shift_g, "the newest fraction weighs 2^-shift_g in alpha");

static unsigned int alpha_bits __read_mostly = 20;
module_param(alpha_bits, uint, 0444);
MODULE_PARM_DESC(alpha_bits, "binary digits of alpha, 10 to 20");

static unsigned int alpha_init __read_mostly;
module_param(alpha_init, uint, 0444);
MODULE_PARM_DESC(alpha_init, "alpha at the start, with 20 binary digits");

static bool shift_decay __read_mostly = true;
module_param(shift_decay, bool, 0444);
MODULE_PARM_DESC(shift_decay, "an alpha too small to be lowered by g stays");

static bool per_ack __read_mostly = true;
module_param(per_ack, bool, 0444);
MODULE_PARM_DESC(per_ack, "alpha is updated by every ACK, not once a window");

static bool normalise __read_mostly;
module_param(normalise, bool, 0444);
MODULE_PARM_DESC(normalise, "an ACK weighs by its share of what is in flight");

static unsigned int loss __read_mostly = RENO;
module_param(loss, uint, 0444);
MODULE_PARM_DESC(loss, "response to a loss: 0 halve, 1 halve but not in CWR, 2 alpha, 3 none");

static unsigned int reduction __read_mostly = PROGRESSIVE;
module_param(reduction, uint, 0444);
MODULE_PARM_DESC(reduction, "the window comes down 0 by PRR, 1 at once, 2 with each ECN-Echo");

static unsigned int below __read_mostly = 1;
module_param(below, uint, 0444);
MODULE_PARM_DESC(below, "distance of ssthresh below the reduced window, segments");

static bool grow_in_cwr __read_mostly = true;
module_param(grow_in_cwr, bool, 0444);
MODULE_PARM_DESC(grow_in_cwr, "the window may grow in the round of a reduction");

static bool sticky_echo __read_mostly;
/* Do not use module_param(): for this name it would define a function that already exists in the
 * kernel. */
module_param_cb(sticky, &param_ops_bool, &sticky_echo, 0444);
MODULE_PARM_DESC(sticky, "the receiver echoes CE until CWR (RFC 3168)");

static bool growth_acks __read_mostly;
module_param(growth_acks, bool, 0444);
MODULE_PARM_DESC(growth_acks, "windows grow by ACKs, as in Linux 3.2, not by segments");

struct dctcp_2014 {
	u32	alpha;			/* alpha_bits binary digits */
	u32	next_seq;		/* end of the window of the next update */
	u32	old_delivered;		/* tp->delivered at the beginning of this window */
	u32	old_delivered_ce;
	u32	delivered;		/* tp->delivered at the last ACK */
	u32	una;
	u32	cnt;			/* snd_cwnd_cnt at the last ACK; reset when CWR begins */
	u32	max_cwnd;		/* window when CWR began */
	u32	loss_cwnd;		/* window before the last response */
	u32	prior_rcv_nxt;
	bool	ce;			/* the last packet received was marked */
	bool	ece;			/* the current ACK carries ECN-Echo */
};

static struct tcp_congestion_ops without_ecn;

static void begin_window(const struct tcp_sock *tp, struct dctcp_2014 *ca)
{
	ca->next_seq = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
}

static void dctcp_2014_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_2014 *ca = inet_csk_ca(sk);

	if (!tcp_ecn_mode_any(tp) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE) {
		/* The peer does not support ECN, so undo what the handshake has set. */
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &without_ecn);
		INET_ECN_dontxmit(sk);
		return;
	}
	memset(ca, 0, sizeof(*ca));
	ca->alpha = alpha_init >> (20 - alpha_bits);
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->delivered = tp->delivered;
	ca->una = tp->snd_una;
	begin_window(tp, ca);
}

/* Returns the window reduced by the factor 1 - alpha/2. */
static u32 reduced(const struct dctcp_2014 *ca, u32 cwnd)
{
	return max_t(u32, cwnd - (((u64)cwnd * ca->alpha) >> (alpha_bits + 1)), 2);
}

static void average(struct dctcp_2014 *ca, u32 fall, u32 rise)
{
	if (!fall && !shift_decay)
		fall = ca->alpha;
	WRITE_ONCE(ca->alpha, min(ca->alpha - fall + rise, 1U << alpha_bits));
}

static void update_per_ack(const struct tcp_sock *tp, struct dctcp_2014 *ca)
{
	u32 full = ca->ece ? 1U << alpha_bits : 0;
	u32 acked = tp->delivered - ca->delivered, in_flight;

	if (!normalise) {
		average(ca, ca->alpha >> shift_g, full >> shift_g);
		return;
	}
	/* The data in flight before this ACK. A duplicate ACK counts as one segment. */
	in_flight = max(tcp_packets_in_flight(tp) + acked, 1U);
	acked = clamp(acked, 1U, in_flight);
	average(ca, div_u64((u64)ca->alpha * acked, in_flight) >> shift_g,
		div_u64((u64)full * acked, in_flight) >> shift_g);
}

static void update_per_window(const struct tcp_sock *tp, struct dctcp_2014 *ca)
{
	u32 delivered = max(tp->delivered - ca->old_delivered, 1U);
	u64 marked = tp->delivered_ce - ca->old_delivered_ce;

	if (before(tp->snd_una, ca->next_seq))
		return;
	average(ca, ca->alpha >> shift_g,
		div_u64(marked << (alpha_bits - shift_g), delivered));
	begin_window(tp, ca);
}

static void dctcp_2014_in_ack_event(struct sock *sk, u32 flags)
{
	struct dctcp_2014 *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->ece = flags & CA_ACK_ECE;
	if (per_ack)
		update_per_ack(tp, ca);
	else
		update_per_window(tp, ca);
	ca->delivered = tp->delivered;
}

/* A reduction is a response to ECN-Echo if the current ACK carries ECN-Echo and no segment is
 * marked lost. */
static u32 dctcp_2014_ssthresh(struct sock *sk)
{
	struct dctcp_2014 *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	ca->loss_cwnd = cwnd;
	if (ca->ece && !tp->lost_out)
		return max(reduced(ca, cwnd) - below, 2U);
	switch (loss) {
	case ALPHA:
		return reduced(ca, cwnd);
	case NONE:
		return max(cwnd, 2U);
	}
	return max(cwnd >> 1, 2U);
}

static void reduce(struct tcp_sock *tp, const struct dctcp_2014 *ca)
{
	u32 target = reduced(ca, ca->max_cwnd);

	if (target >= tcp_snd_cwnd(tp))
		return;
	tcp_snd_cwnd_set(tp, target);
	tp->snd_cwnd_cnt = 0;
	WRITE_ONCE(tp->snd_ssthresh, max(target - below, 2U));
}

static void dctcp_2014_set_state(struct sock *sk, u8 state)
{
	u8 before = inet_csk(sk)->icsk_ca_state;
	struct dctcp_2014 *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_Recovery && before == TCP_CA_CWR && loss == HALVE) {
		ca->loss_cwnd = tcp_snd_cwnd(tp);
		WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp) >> 1, 2U));
	}
	if (reduction == PRR)
		return;
	if (state == TCP_CA_CWR && before != TCP_CA_CWR) {
		ca->max_cwnd = tcp_snd_cwnd(tp);
		if (grow_in_cwr)
			tp->snd_cwnd_cnt = ca->cnt;
		reduce(tp, ca);
	}
	/* Set the window after Recovery, because with cong_control the stack
	 * does not. */
	if (before == TCP_CA_Recovery && state < TCP_CA_CWR && tp->undo_marker &&
	    tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
}

/* Grows the window as Linux 3.2 did: slow start lasts until the window exceeds ssthresh, and the
 * ACK that raises the window is not counted again.
 */
static void grow_by_ack(struct tcp_sock *tp)
{
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd <= tp->snd_ssthresh) {
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
	} else if (tp->snd_cwnd_cnt >= cwnd) {
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
		tp->snd_cwnd_cnt = 0;
	} else {
		tp->snd_cwnd_cnt++;
	}
}

static void dctcp_2014_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!growth_acks)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (acked && tcp_is_cwnd_limited(sk))
		grow_by_ack(tp);
}

/* PRR (RFC 6937), copied from the stack, which does not export its function to
 * modules. */
static void reduce_by_prr(struct tcp_sock *tp, int delivered, int lost, bool advanced)
{
	int delta = tp->snd_ssthresh - tcp_packets_in_flight(tp), send;

	if (delivered <= 0 || !tp->prior_cwnd)
		return;
	tp->prr_delivered += delivered;
	if (delta < 0) {
		u64 share = (u64)tp->snd_ssthresh * tp->prr_delivered + tp->prior_cwnd - 1;

		send = div_u64(share, tp->prior_cwnd) - tp->prr_out;
	} else {
		send = max_t(int, tp->prr_delivered - tp->prr_out, delivered);
		send = min(delta, send + (advanced && !lost));
	}
	send = max(send, tp->prr_out ? 0 : 1);
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + send);
}

/* TSO and TCP small queues use the pacing rate to determine how much to send at a time. */
static void set_pacing_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3);

	rate *= tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= max(tcp_snd_cwnd(tp), tp->packets_out);
	if (tp->srtt_us)
		rate = div_u64(rate, tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void dctcp_2014_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct dctcp_2014 *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* The answer to a SYN acknowledges no data. */
	bool advanced = tp->snd_una != ca->una && sk->sk_state != TCP_SYN_SENT;

	switch (inet_csk(sk)->icsk_ca_state) {
	case TCP_CA_CWR:
		if (ca->ece && reduction == PROGRESSIVE)
			reduce(tp, ca);
		else if (!ca->ece && grow_in_cwr && rs->acked_sacked > 0)
			dctcp_2014_cong_avoid(sk, ack, rs->acked_sacked);
		break;
	case TCP_CA_Recovery:
		reduce_by_prr(tp, rs->acked_sacked, rs->losses, advanced);
		break;
	default:
		if (advanced)
			dctcp_2014_cong_avoid(sk, ack, rs->acked_sacked);
	}
	ca->una = tp->snd_una;
	ca->cnt = tp->snd_cwnd_cnt;
	set_pacing_rate(sk);
}

static void demand_cwr(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* RFC 8257 section 3.2: when CE changes, acknowledge the data received so far with the
 * previous value. */
static void dctcp_2014_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp_2014 *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool ce = event == CA_EVENT_ECN_IS_CE;

	if (sticky_echo || (!ce && event != CA_EVENT_ECN_NO_CE))
		return;
	if (ca->ce != ce) {
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			demand_cwr(tp, ca->ce);
			__tcp_send_ack(sk, ca->prior_rcv_nxt, 0);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce = ce;
	demand_cwr(tp, ce);
}

static u32 dctcp_2014_undo(struct sock *sk)
{
	const struct dctcp_2014 *ca = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_cwnd);
}

/* Reports alpha with ten binary digits, as Linux's own DCTCP does. */
static size_t dctcp_2014_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct dctcp_2014 *ca = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	if (READ_ONCE(inet_csk(sk)->icsk_ca_ops) != &without_ecn) {
		info->dctcp.dctcp_enabled = 1;
		info->dctcp.dctcp_ce_state = ca->ce;
		info->dctcp.dctcp_alpha = READ_ONCE(ca->alpha) >> (alpha_bits - 10);
	}
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

static struct tcp_congestion_ops dctcp_2014 __read_mostly = {
	.init		= dctcp_2014_init,
	.in_ack_event	= dctcp_2014_in_ack_event,
	.cwnd_event	= dctcp_2014_event,
	.ssthresh	= dctcp_2014_ssthresh,
	.set_state	= dctcp_2014_set_state,
	.cong_avoid	= dctcp_2014_cong_avoid,
	.undo_cwnd	= dctcp_2014_undo,
	.get_info	= dctcp_2014_info,
	.flags		= TCP_CONG_NEEDS_ECN,
	.owner		= THIS_MODULE,
	.name		= "dctcp_2014",
};

static struct tcp_congestion_ops without_ecn __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= dctcp_2014_info,
	.owner		= THIS_MODULE,
	.name		= "dctcp_2014-reno",
};

static int __init dctcp_2014_start(void)
{
	BUILD_BUG_ON(sizeof(struct dctcp_2014) > ICSK_CA_PRIV_SIZE);
	if (alpha_bits < 10 || alpha_bits > 20 || shift_g > alpha_bits || loss > NONE ||
	    reduction > PROGRESSIVE || alpha_init > 1 << 20 || below > 1)
		return -EINVAL;
	if (reduction != PRR)
		dctcp_2014.cong_control = dctcp_2014_control;
	return tcp_register_congestion_control(&dctcp_2014);
}

static void __exit dctcp_2014_stop(void)
{
	tcp_unregister_congestion_control(&dctcp_2014);
}

module_init(dctcp_2014_start)
module_exit(dctcp_2014_stop)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("DCTCP as it was in 2012 and 2014");
