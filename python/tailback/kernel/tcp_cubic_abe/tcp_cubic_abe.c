// SPDX-License-Identifier: (MIT OR Apache-2.0) AND GPL-2.0
/*
 * cubic_abe: CUBIC (RFC 9438) with a separate reduction factor for ECN-Echo (ABE,
 * RFC 8511).
 *
 * The curve, the Reno-friendly window, HyStart and the parameters are a port of the simulator's
 * code (crates/engine/src/cc/cubic.rs) to C. The simulator follows the fixed-point arithmetic of
 * Linux 7.3. See tcp_reno_abe for how ECN-Echo is distinguished from a loss. If ECN-Echo caused the
 * reduction, beta_ecn replaces beta in fast convergence, too. The Reno-friendly window grows by the
 * alpha that follows from beta.
 *
 * Units: windows in segments, K and epochs in 1/1024 s within the cubic
 * function, other times in jiffies, delays in us.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#define SCALE 1024		/* scale of the factors */
#define C_SCALED 410		/* C, 1/1024 segments/s^3 */
#define CLOCK_BITS 10		/* resolution of the cubic function's clock */
#define CURVE_BITS (10 + 3 * CLOCK_BITS)

#define LOW_WINDOW 16		/* smallest window for HyStart */
#define MIN_SAMPLES 8		/* RTT samples before HyStart decides by delay */
#define TRAIN_GAP_US 2000	/* ACKs closer than this are one train */

static unsigned int beta __read_mostly = 717;
module_param(beta, uint, 0444);
MODULE_PARM_DESC(beta, "factor of the window after a loss, 1/1024");

static unsigned int beta_ecn __read_mostly = 870;
module_param(beta_ecn, uint, 0444);
MODULE_PARM_DESC(beta_ecn, "factor of the window after ECN-Echo, 1/1024");

static int fast_convergence __read_mostly = 1;
module_param(fast_convergence, int, 0444);
MODULE_PARM_DESC(fast_convergence, "release bandwidth while the maximum falls");

static int tcp_friendliness __read_mostly = 1;
module_param(tcp_friendliness, int, 0444);
MODULE_PARM_DESC(tcp_friendliness, "grow at least as Reno would");

static int hystart __read_mostly = 1;
module_param(hystart, int, 0444);
MODULE_PARM_DESC(hystart, "leave slow start on a train of ACKs or on delay");

/* How many eighths of a window must be acknowledged for each segment by which the Reno-friendly
 * window grows. */
static u32 friendly_scale __read_mostly;

struct cubic_abe {
	u32 cnt;		/* segments to acknowledge per segment of increase */
	u32 w_max;		/* window before the last reduction; 0: no reduction yet */
	u32 last_cwnd;		/* window at the last update */
	u32 last_time;		/* time of the last update, jiffies */
	u32 origin;		/* window at the inflection point */
	u32 k;			/* time to the inflection point, 1/1024 s */
	u32 delay_min;		/* smallest RTT, us */
	u32 epoch_start;	/* jiffies, 0: no epoch */
	u32 acked;		/* segments not yet counted in w_est */
	u32 w_est;		/* estimate of the window that Reno would have */
	/* HyStart's round of slow start */
	u32 round_start;	/* us */
	u32 end_seq;
	u32 last_ack;		/* us */
	u32 curr_rtt;		/* us */
	u8 samples;
	u8 found;		/* HyStart has ended slow start */
	bool ece;		/* the current ACK carries ECN-Echo */
};

/* First approximations of cube roots, minus ten. The index is the number's leading digits (8 to 63)
 * minus 8. The table is copied from Linux, because its rounding errors affect the curve.
 */
static const u8 roots[56] = {
	123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
	176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206,
	209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232,
	234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
};

static u32 cube_root(u64 a)
{
	u32 digits = fls64(a), shift;
	u64 x;

	if (digits < 7) {
		u64 root = 0;

		/* Round to the nearest root: compare (root + 1/2)^3 with a, both times 8 to avoid
		 * fractions. */
		while (root < 4 && (2 * root + 1) * (2 * root + 1) * (2 * root + 1) <= 8 * a)
			root++;
		return root;
	}
	shift = ((digits * 84) >> 8) - 1;
	x = ((u64)(roots[(a >> (3 * shift)) - 8] + 10) << shift) >> 6;
	/* A Newton step: (2 x + a / x^2) / 3. */
	return ((2 * x + div64_u64(a, x * (x - 1))) * 341) >> 10;
}

/* C t^3 in segments. */
static u32 rise(u64 t)
{
	/* Saturate before the products exceed 64 bits, at t of about 350 s. */
	if (t > 358000)
		return U32_MAX;
	return (C_SCALED * t * t * t) >> CURVE_BITS;
}

static u32 now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

static void new_round(struct sock *sk)
{
	struct cubic_abe *ca = inet_csk_ca(sk);

	ca->round_start = ca->last_ack = now_us(sk);
	ca->end_seq = tcp_sk(sk)->snd_nxt;
	ca->curr_rtt = U32_MAX;
	ca->samples = 0;
}

static void forget(struct cubic_abe *ca)
{
	memset(ca, 0, offsetof(struct cubic_abe, round_start));
	ca->found = 0;
}

static void cubic_abe_init(struct sock *sk)
{
	struct cubic_abe *ca = inet_csk_ca(sk);

	forget(ca);
	ca->ece = false;
	new_round(sk);
}

static void cubic_abe_tx_start(struct sock *sk)
{
	struct cubic_abe *ca = inet_csk_ca(sk);
	u32 now = tcp_jiffies32;
	s32 idle = now - tcp_sk(sk)->lsndtime;

	/* The curve does not advance while the application is idle. */
	if (ca->epoch_start && idle > 0) {
		ca->epoch_start += idle;
		if (after(ca->epoch_start, now))
			ca->epoch_start = now;
	}
}

/* compat.h defines this macro for kernels in which the start of a transmission is one of several
 * events. */
#ifdef TAILBACK_TX_START_EVENT
TAILBACK_TX_START_EVENT(cubic_abe_tx_start)
#endif

/* Returns how many segments must be acknowledged for each segment of growth, according to the
 * curve. */
static u32 by_curve(struct cubic_abe *ca, u32 cwnd, u32 acked, u32 now)
{
	u64 t;
	u32 target, delta, cnt;

	if (!ca->epoch_start) {
		ca->epoch_start = now;
		ca->acked = acked;
		ca->w_est = cwnd;
		ca->origin = max(ca->w_max, cwnd);
		ca->k = ca->w_max > cwnd ?
			cube_root((1ULL << CURVE_BITS) / C_SCALED * (ca->w_max - cwnd)) : 0;
	}
	t = (s32)(now - ca->epoch_start) + usecs_to_jiffies(ca->delay_min);
	t = div_u64(t << CLOCK_BITS, HZ);
	delta = rise(t < ca->k ? ca->k - t : t - ca->k);
	target = t < ca->k ? ca->origin - min(delta, ca->origin) : ca->origin + delta;
	cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
	/* While the bandwidth is unknown, grow by at least 5 % per RTT. */
	return ca->w_max ? cnt : min_t(u32, cnt, 20);
}

static void update(struct cubic_abe *ca, u32 cwnd, u32 acked)
{
	u32 now = tcp_jiffies32;

	ca->acked += acked;
	if (ca->last_cwnd == cwnd && (s32)(now - ca->last_time) <= HZ / 32)
		return;
	/* The curve depends on the time, and the Reno-friendly window depends on ACKs. */
	if (!ca->epoch_start || now != ca->last_time) {
		ca->last_cwnd = cwnd;
		ca->last_time = now;
		ca->cnt = by_curve(ca, cwnd, acked, now);
	}
	if (tcp_friendliness) {
		u32 per_segment = (cwnd * friendly_scale) >> 3;

		while (ca->acked > per_segment) {
			ca->acked -= per_segment;
			ca->w_est++;
		}
		if (ca->w_est > cwnd)
			ca->cnt = min(ca->cnt, cwnd / (ca->w_est - cwnd));
	}
	ca->cnt = max(ca->cnt, 2U);
}

static void cubic_abe_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct cubic_abe *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	update(ca, tcp_snd_cwnd(tp), acked);
	tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

static void cubic_abe_in_ack_event(struct sock *sk, u32 flags)
{
	struct cubic_abe *ca = inet_csk_ca(sk);

	ca->ece = flags & CA_ACK_ECE;
}

static u32 cubic_abe_ssthresh(struct sock *sk)
{
	struct cubic_abe *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 factor = ca->ece && !tp->lost_out ? beta_ecn : beta;

	ca->epoch_start = 0;
	ca->w_max = cwnd < ca->w_max && fast_convergence ?
		    cwnd * (SCALE + factor) / (2 * SCALE) : cwnd;
	return max(cwnd * factor / SCALE, 2U);
}

static void cubic_abe_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss) {
		forget(inet_csk_ca(sk));
		new_round(sk);
	}
}

/* Time that bursts may add to a train of ACKs: four of the largest bursts, sent at the pacing rate.
 * */
static u32 burst_us(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);
	u64 bytes = (u64)sk->sk_gso_max_size * 4;

	if (!rate)
		return 0;
	return min_t(u64, USEC_PER_MSEC, div64_ul(bytes * USEC_PER_SEC, rate));
}

static void look(struct sock *sk, u32 delay)
{
	struct cubic_abe *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = now_us(sk);
	bool found = false;

	if (after(tp->snd_una, ca->end_seq))
		new_round(sk);
	if (tcp_snd_cwnd(tp) < LOW_WINDOW)
		return;
	if ((s32)(now - ca->last_ack) <= TRAIN_GAP_US) {
		u32 most = ca->delay_min + burst_us(sk);

		ca->last_ack = now;
		/* With pacing, a round's packets already spread over half an RTT,
		 * so the full delay is allowed. */
		if (READ_ONCE(sk->sk_pacing_status) == SK_PACING_NONE)
			most >>= 1;
		found = (s32)(now - ca->round_start) > (s32)most;
	}
	ca->curr_rtt = min(ca->curr_rtt, delay);
	if (ca->samples < MIN_SAMPLES)
		ca->samples++;
	else if (ca->curr_rtt > ca->delay_min + clamp_t(u32, ca->delay_min >> 3, 4000, 16000))
		found = true;
	if (found) {
		ca->found = 1;
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	}
}

static void cubic_abe_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct cubic_abe *ca = inet_csk_ca(sk);
	u32 delay;

	if (sample->rtt_us < 0)
		return;
	/* Ignore delay samples in the second after a reduction, because the
	 * queue has changed. */
	if (ca->epoch_start && (s32)(tcp_jiffies32 - ca->epoch_start) < HZ)
		return;
	delay = max_t(u32, sample->rtt_us, 1);
	if (!ca->delay_min || ca->delay_min > delay)
		ca->delay_min = delay;
	if (hystart && !ca->found && tcp_in_slow_start(tcp_sk(sk)))
		look(sk, delay);
}

static struct tcp_congestion_ops cubic_abe __read_mostly = {
	.init			= cubic_abe_init,
	.ssthresh		= cubic_abe_ssthresh,
	.cong_avoid		= cubic_abe_cong_avoid,
	.set_state		= cubic_abe_set_state,
	.undo_cwnd		= tcp_reno_undo_cwnd,
#ifdef TAILBACK_TX_START_EVENT
	.cwnd_event		= cubic_abe_tx_start_event,
#else
	.cwnd_event_tx_start	= cubic_abe_tx_start,
#endif
	.in_ack_event		= cubic_abe_in_ack_event,
	.pkts_acked		= cubic_abe_pkts_acked,
	.owner			= THIS_MODULE,
	.name			= "cubic_abe",
};

static int __init cubic_abe_start(void)
{
	BUILD_BUG_ON(sizeof(struct cubic_abe) > ICSK_CA_PRIV_SIZE);
	if (beta == 0 || beta >= SCALE || beta_ecn == 0 || beta_ecn >= SCALE)
		return -EINVAL;
	friendly_scale = 8 * (SCALE + beta) / 3 / (SCALE - beta);
	return tcp_register_congestion_control(&cubic_abe);
}

static void __exit cubic_abe_stop(void)
{
	tcp_unregister_congestion_control(&cubic_abe);
}

module_init(cubic_abe_start)
module_exit(cubic_abe_stop)
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("CUBIC with alternative backoff on ECN");
