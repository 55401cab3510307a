/* A bottleneck with real AQMs, ECN and competing TCP. Made by `make header` from crates/c. */

#ifndef TAILBACK_H
#define TAILBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ECN field of the IP header: not ECN-capable.
#define tailback_NOT_ECT 0

// ECT(1).
#define tailback_ECT1 1

// ECT(0).
#define tailback_ECT0 2

// Congestion experienced.
#define tailback_CE 3

// A simulated path, with queues and competing traffic, through which the caller sends datagrams.
typedef struct tailback_bottleneck tailback_bottleneck;

// A datagram that has arrived or was dropped.
typedef struct tailback_delivery {
  // The number with which the caller identifies the datagram, as passed to tailback_push.
  uint64_t handle;
  // When the datagram was sent, ns.
  uint64_t sent;
  // When the datagram arrived or was dropped, ns.
  uint64_t at;
  // Whether the datagram arrived. If the value is false, a link dropped the datagram.
  bool arrived;
  // Whether the datagram was sent to the sender, along the return path.
  bool back;
  // The ECN field of the datagram on arrival.
  uint8_t ecn;
} tailback_delivery;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a bottleneck from the text of a scenario file with one entry of [[programs]]. If the
// scenario has errors, returns NULL and writes the errors to `message`, as UTF-8 cut to `capacity`
// bytes.
//
// # Safety
// `scenario` is a string that ends with a zero byte. `message` is NULL or has `capacity` bytes.
struct tailback_bottleneck *tailback_bottleneck_new(const char *scenario,
                                                    char *message,
                                                    size_t capacity);

// Frees a bottleneck. NULL is allowed.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new and is not used afterwards.
void tailback_bottleneck_free(struct tailback_bottleneck *bottleneck);

// Sends a datagram with `bytes` of payload to the receiver, through the links. `now` is in ns. If
// `now` is earlier than in the last call, or the datagram is too long, returns false and sends
// nothing.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
bool tailback_push(struct tailback_bottleneck *bottleneck,
                   uint64_t now,
                   size_t bytes,
                   uint8_t ecn,
                   uint64_t handle);

// Like tailback_push, but sends the datagram to the sender, along the return path.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
bool tailback_push_back(struct tailback_bottleneck *bottleneck,
                        uint64_t now,
                        size_t bytes,
                        uint8_t ecn,
                        uint64_t handle);

// Writes to `delivery` the next datagram that arrived or was dropped up to `now`. Calls return
// datagrams in the order in which they arrived or were dropped. Returns false if there is no such
// datagram, or if `now` is earlier than in the last call.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new, and `delivery` points to writable memory.
bool tailback_poll(struct tailback_bottleneck *bottleneck,
                   uint64_t now,
                   struct tailback_delivery *delivery);

// Returns when to call tailback_poll next, ns, or UINT64_MAX if no datagram is in the network.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
uint64_t tailback_next(const struct tailback_bottleneck *bottleneck);

// Returns the packets captured until now as a pcapng file, and writes its length to `length`. The
// file is valid until the next call with this bottleneck. If the scenario does not have
// `packets = true` in [record], returns NULL.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new, and `length` can be written.
const uint8_t *tailback_pcapng(const struct tailback_bottleneck *bottleneck, size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAILBACK_H */
