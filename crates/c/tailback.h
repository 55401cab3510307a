/* A bottleneck with real AQMs, ECN and competing TCP. Made by `make header` from crates/c. */

#ifndef TAILBACK_H
#define TAILBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Not ECN-capable. This constant and the next ones are values of the ECN field in the IP header.
#define tailback_NOT_ECT 0

// ECT(1).
#define tailback_ECT1 1

// ECT(0).
#define tailback_ECT0 2

// Congestion experienced.
#define tailback_CE 3

// A path with queues, ECN and competing traffic, to which the caller gives datagrams.
typedef struct tailback_bottleneck tailback_bottleneck;

// The fate of a datagram.
typedef struct tailback_delivery {
  // The handle with which the datagram was pushed.
  uint64_t handle;
  // When the datagram was pushed, ns.
  uint64_t sent;
  // When the datagram arrived or was dropped, ns.
  uint64_t at;
  // Whether the datagram arrived. If not, a link dropped it.
  bool arrived;
  // Whether the datagram went to the sender's side, along the return path.
  bool back;
  // The ECN field of the datagram on arrival.
  uint8_t ecn;
} tailback_delivery;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a bottleneck from a scenario: a text in tailback's format with one entry of
// [[programs]]. Returns NULL if the scenario has errors. Then `message` holds the errors as UTF-8,
// cut to `capacity` bytes.
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

// Sends a datagram with this many bytes of payload to the receiver's side, through the links.
// `now` is in ns. Returns false, and sends nothing, if the time decreases or the datagram is too
// long.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
bool tailback_push(struct tailback_bottleneck *bottleneck,
                   uint64_t now,
                   size_t bytes,
                   uint8_t ecn,
                   uint64_t handle);

// Sends a datagram to the sender's side, along the return path. Otherwise works like
// tailback_push.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
bool tailback_push_back(struct tailback_bottleneck *bottleneck,
                        uint64_t now,
                        size_t bytes,
                        uint8_t ecn,
                        uint64_t handle);

// Writes the fate of the next datagram that arrived or was dropped by `now`, in the order of time.
// Returns false if there is no such datagram, or if the time decreases.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new, and `delivery` can be written.
bool tailback_poll(struct tailback_bottleneck *bottleneck,
                   uint64_t now,
                   struct tailback_delivery *delivery);

// Returns when to poll next, ns. Returns UINT64_MAX if no datagram is in the network.
//
// # Safety
// `bottleneck` comes from tailback_bottleneck_new.
uint64_t tailback_next(const struct tailback_bottleneck *bottleneck);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAILBACK_H */
