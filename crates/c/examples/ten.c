/* Sends ten datagrams at once through DualPI2 at 1 Mbit/s. Prints the arrival time and the ECN
 * field of each datagram. Writes the captured packets to the file that the first argument names. */
#include <inttypes.h>
#include <stdio.h>

#include "../tailback.h"

int main(int count, char **arguments) {
    const char *scenario =
        "duration = \"1s\"\n"
        "[bottleneck]\nrate = \"1Mbit\"\nqueue = \"dualpi2\"\n"
        "[path]\nrtt = \"10ms\"\n"
        "[[programs]]\nname = \"mine\"\n"
        "[record]\npackets = true\n";
    char message[1000];
    struct tailback_bottleneck *bottleneck =
        tailback_bottleneck_new(scenario, message, sizeof message);
    if (bottleneck == NULL) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    for (uint64_t handle = 0; handle < 10; handle++)
        tailback_push(bottleneck, 0, 1208, tailback_ECT1, handle);
    uint64_t now;
    while ((now = tailback_next(bottleneck)) != UINT64_MAX) {
        struct tailback_delivery delivery;
        while (tailback_poll(bottleneck, now, &delivery))
            printf("%" PRIu64 " %" PRIu64 " %d\n", delivery.handle, delivery.at, delivery.ecn);
    }
    size_t length;
    const uint8_t *packets = tailback_pcapng(bottleneck, &length);
    FILE *file = count > 1 ? fopen(arguments[1], "wb") : NULL;
    if (file != NULL) {
        fwrite(packets, 1, length, file);
        fclose(file);
    }
    tailback_bottleneck_free(bottleneck);
    return 0;
}
