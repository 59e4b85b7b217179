/*
 * Random words, from a seed or from the operating system.
 *
 * Replay: word q of a stream is word q % 4 of Threefry-4x64-20 with
 *
 *     key     = (seed, round, purpose, 0)
 *     counter = (q / 4, from, to, 0),
 *
 * so every word has an address, two streams never overlap, and whoever knows
 * the seed can compute any part of any stream without the rest. Real use:
 * ChaCha20 from libsodium under a key from the kernel, the processor and the
 * clock; each refill spends the
 * first 32 bytes of its output on the next key and forgets the old one, so what
 * was sent cannot be recomputed from memory that leaks later. Many words at once are
 * AES-256 in counter mode from OpenSSL, two to three times as fast where processors
 * have instructions for it, under a key that is drawn for them from that stream, used
 * for nothing else and forgotten: who could tell either from chance could break
 * ChaCha20 or AES-256.
 */
#include "random.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Words first to first + 31 of the stream, in order. */
PRI_CLONES
static void fill_replay(const uint64_t *key_words, uint64_t from, uint64_t to,
                        uint64_t first, uint64_t *words)
{
    struct pri_threefry_key key = pri_threefry_key(key_words[0], key_words[1],
                                                   key_words[2], key_words[3]);
    struct pri_lanes x[4] = {pri_lanes_count(first / 4), pri_lanes_fill(from),
                             pri_lanes_fill(to), pri_lanes_fill(0)};
    pri_threefry(&key, x);
    for (int lane = 0; lane < PRI_LANES; lane++)
        for (int w = 0; w < 4; w++)
            words[4 * lane + w] = x[w].half[lane / 4][lane % 4];
}

/* The next key comes first in the keystream and is never handed out: 16 whole blocks
 * for both, since a part of one costs as much as four. */
static void fill_secret(struct pricer_random *random)
{
    static const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES];
    _Static_assert(sizeof random->words % 512 == 0, "whole blocks");
    crypto_stream_chacha20((unsigned char *)random->words, sizeof random->words,
                           nonce, (const unsigned char *)random->key);
    memcpy(random->key, random->words, sizeof random->key);
    sodium_memzero(random->words, sizeof random->key);
    random->left = PRICER_RANDOM_WORDS - sizeof random->key / 8;
}

static void fill_replayed(struct pricer_random *random)
{
    for (int k = 0; k < PRICER_RANDOM_WORDS; k += 4 * PRI_LANES)
        fill_replay(random->key, random->from, random->to,
                    random->next + (uint64_t)k, random->words + k);
    random->next += PRICER_RANDOM_WORDS;
    random->left = PRICER_RANDOM_WORDS;
}

void pri_random_refill(struct pricer_random *random)
{
    if (random->secret)
        fill_secret(random);
    else
        fill_replayed(random);
}

/* A key that is used once and counted from 0, drawn from the stream; it stays in no
 * other place than the cipher. False: OpenSSL has no memory for it, or no AES. */
static bool set_key(struct pri_flow *flow, const EVP_CIPHER *kind)
{
    static const unsigned char zero[16];
    struct pricer_random *random = flow->random;
    uint64_t key[4];
    pri_random_words(random, 4, key);
    bool good = EVP_EncryptInit_ex(flow->cipher, kind, NULL,
                                   (const unsigned char *)key, zero) == 1;
    sodium_memzero(key, sizeof key);
    sodium_memzero(random->words,
                   sizeof *random->words *
                       (size_t)(PRICER_RANDOM_WORDS - random->left));
    flow->left = PRI_FLOW;
    return good;
}

void pri_flow_close(struct pri_flow *flow)
{
    EVP_CIPHER_CTX_free(flow->cipher); /* which wipes it */
    flow->cipher = NULL;
}

void pri_flow_open(struct pri_flow *flow, struct pricer_random *random,
                   int64_t count)
{
    *flow = (struct pri_flow){.random = random};
    if (!random->secret || count < PRI_MANY)
        return;
    flow->cipher = EVP_CIPHER_CTX_new();
    if (flow->cipher != NULL && !set_key(flow, EVP_aes_256_ctr()))
        pri_flow_close(flow);
}

static bool encrypt(struct pri_flow *flow, int count, uint64_t *words)
{
    int size = count * (int)sizeof *words, done = 0;
    if (flow->left < count && !set_key(flow, NULL))
        return false;
    flow->left -= count;
    memset(words, 0, (size_t)size);
    return EVP_EncryptUpdate(flow->cipher, (unsigned char *)words, &done,
                             (const unsigned char *)words, size) == 1 &&
           done == size;
}

void pri_flow_words(struct pri_flow *flow, int count, uint64_t *words)
{
    if (flow->cipher != NULL && !encrypt(flow, count, words))
        pri_flow_close(flow);
    if (flow->cipher == NULL)
        pri_random_words(flow->random, count, words);
}

void pricer_random_replay(struct pricer_random *random, uint64_t seed,
                          enum pricer_purpose purpose, int64_t round,
                          int32_t from, int32_t to)
{
    *random = (struct pricer_random){
        .key = {seed, (uint64_t)round, (uint64_t)purpose, 0},
        .from = (uint32_t)from,
        .to = (uint32_t)to,
    };
}

/* What the processor itself draws, where it does: a kernel that is put back to an
 * earlier state goes on from there, the processor does not. */
#if defined(__x86_64__)
/* As it was found when the program started: asking the processor what it can do
 * leaves a virtual machine, which takes tens of microseconds. */
static bool has_draws(void)
{
#if defined(__clang__)
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_RDRND) != 0;
#else
    return __builtin_cpu_supports("rdrnd");
#endif
}

__attribute__((target("rdrnd"))) static uint64_t draw_processor(void)
{
    unsigned long long word = 0;
    if (!has_draws())
        return 0;
    for (int k = 0; k < 10 && !__builtin_ia32_rdrand64_step(&word); k++)
        word = 0;
    return word;
}
#else
static uint64_t draw_processor(void)
{
    return 0;
}
#endif

/*
 * Claim: the key is as hard to guess as the kernel's 32 bytes, and another one
 * in every call, also if the kernel gives the same bytes twice. Proof: it is
 * their BLAKE2b hash together with words that are not the same twice, the time
 * among them; nobody needs to trust those for the first.
 */
static void make_key(uint64_t key[4])
{
    struct {
        unsigned char kernel[32];
        uint64_t processor[2], time[2];
    } from = {{0}, {0}, {0}};
    struct timespec now = {0, 0};
    randombytes_buf(from.kernel, sizeof from.kernel);
    for (int k = 0; k < 2; k++)
        from.processor[k] = draw_processor();
    clock_gettime(CLOCK_REALTIME, &now);
    from.time[0] = (uint64_t)now.tv_sec;
    from.time[1] = (uint64_t)now.tv_nsec;
    crypto_generichash((unsigned char *)key, 32, (const unsigned char *)&from,
                       sizeof from, NULL, 0);
    sodium_memzero(&from, sizeof from);
}

enum pricer_status pricer_random_secret(struct pricer_random *random,
                                        struct pricer_fault *fault)
{
    _Static_assert(sizeof random->key == crypto_stream_chacha20_KEYBYTES,
                   "the state holds one ChaCha20 key");
    if (sodium_init() < 0)
        return pri_fault(fault, PRICER_FILE,
                         "the operating system gives no random numbers");
    *random = (struct pricer_random){.secret = true};
    make_key(random->key);
    return PRICER_OK;
}

uint64_t pricer_random_word(struct pricer_random *random)
{
    return pri_random_word(random);
}

void pricer_random_wipe(struct pricer_random *random)
{
    sodium_memzero(random, sizeof *random);
}
