// SPDX-License-Identifier: (MIT OR Apache-2.0) AND GPL-2.0
/*
 * reno_abe: Reno with a separate reduction factor for ECN-Echo (ABE, RFC 8511).
 *
 * Linux calls ssthresh() before it changes the congestion state, and does not
 * pass the reason of the reduction. This module assumes that ECN-Echo is the
 * reason if the current ACK carries this flag and no segment is marked lost.
 * in_ack_event() has stored the flag. A timeout marks segments as lost before
 * it calls ssthresh(). One case is misclassified: a loss that a tail loss probe
 * has repaired, if its ACK also carries ECN-Echo.
 *
 * Everything else is as in Linux's Reno: the reduction starts from cwnd and
 * follows PRR. A reduction happens once per window, even if a loss follows in
 * the same window.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#define ONE 1000000

static unsigned int beta_ecn __read_mostly = 800000;
module_param(beta_ecn, uint, 0444);
MODULE_PARM_DESC(beta_ecn, "factor of the window after ECN-Echo, millionths");

struct reno_abe {
	bool ece;	/* the current ACK carries ECN-Echo */
};

static void reno_abe_init(struct sock *sk)
{
	struct reno_abe *ca = inet_csk_ca(sk);

	ca->ece = false;
}

static void reno_abe_in_ack_event(struct sock *sk, u32 flags)
{
	struct reno_abe *ca = inet_csk_ca(sk);

	ca->ece = flags & CA_ACK_ECE;
}

static u32 reno_abe_ssthresh(struct sock *sk)
{
	const struct reno_abe *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 left;

	if (!ca->ece || tp->lost_out)
		return tcp_reno_ssthresh(sk);
	left = div_u64((u64)tcp_snd_cwnd(tp) * beta_ecn, ONE);
	return max_t(u32, left, 2);
}

static struct tcp_congestion_ops reno_abe __read_mostly = {
	.init		= reno_abe_init,
	.ssthresh	= reno_abe_ssthresh,
	.in_ack_event	= reno_abe_in_ack_event,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "reno_abe",
};

static int __init reno_abe_start(void)
{
	BUILD_BUG_ON(sizeof(struct reno_abe) > ICSK_CA_PRIV_SIZE);
	if (beta_ecn == 0 || beta_ecn >= ONE)
		return -EINVAL;
	return tcp_register_congestion_control(&reno_abe);
}

static void __exit reno_abe_stop(void)
{
	tcp_unregister_congestion_control(&reno_abe);
}

module_init(reno_abe_start)
module_exit(reno_abe_stop)
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Reno with alternative backoff on ECN");
