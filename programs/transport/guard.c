/*
 * The guard: from the address of a connection to whether it may begin a
 * handshake. It costs a hash and no memory, since whoever connects need not
 * show a key for it.
 */
#include "hub.h"

#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096 };

struct guard {
    unsigned char secret[crypto_shorthash_KEYBYTES];
    int pending; /* of all */
    struct guard_place {
        int pending;
        struct quota accepts;
    } places[PLACES];
};

struct guard *guard_new(void)
{
    struct guard *guard = calloc(1, sizeof *guard);
    if (guard != NULL)
        crypto_shorthash_keygen(guard->secret);
    return guard;
}

void guard_free(struct guard *guard)
{
    free(guard);
}

/* The bytes of an address that tell machines apart. */
static void find_bytes(const struct sockaddr *from, unsigned char *bytes)
{
    memset(bytes, 0, 8);
    if (from->sa_family == AF_INET) {
        memcpy(bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const struct in6_addr *six =
            &((const struct sockaddr_in6 *)from)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(six))
            memcpy(bytes, six->s6_addr + 12, 4);
        else
            memcpy(bytes, six->s6_addr, 8);
    }
}

int guard_enter(struct guard *guard, const struct sockaddr *from, int64_t now)
{
    unsigned char bytes[8], hash[crypto_shorthash_BYTES];
    uint32_t place;
    find_bytes(from, bytes);
    crypto_shorthash(hash, bytes, sizeof bytes, guard->secret);
    memcpy(&place, hash, sizeof place);
    place %= PLACES;
    if (guard->pending >= HUB_PENDING ||
        guard->places[place].pending >= HUB_PENDING_EACH ||
        !quota_take(&guard->places[place].accepts, now, HUB_ACCEPTS,
                    2 * HUB_ACCEPTS))
        return -1;
    guard->pending++;
    guard->places[place].pending++;
    return (int)place;
}

void guard_leave(struct guard *guard, int place)
{
    if (place < 0)
        return;
    guard->pending--;
    guard->places[place].pending--;
}
