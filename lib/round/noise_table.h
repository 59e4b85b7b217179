/*
 * The strips of the noise: where each begins in the 2^64 values of a random
 * word. Strip k has the weight W_k = ceil(C exp(-k^2 / 512)), and `start` holds
 * the sums W_0 + ... + W_(k - 1). From the last entry on every strip has the
 * weight 1. `guide` gives the strip in which the values with a given top byte
 * begin. A test recomputes every entry in exact arithmetic.
 */
#ifndef PRICER_NOISE_TABLE_H
#define PRICER_NOISE_TABLE_H

#include <stdint.h>

#define PRI_NOISE_SCALE UINT64_C(897519610827868545) /* C */

enum { PRI_NOISE_LISTED = 146 };

static const uint64_t pri_noise_start[PRI_NOISE_LISTED + 1] = {
    0x0000000000000000u, 0x0c74a154ae578981u, 0x18e309e7041cc2dcu,
    0x253edad1b889a36du, 0x317becb0f4099540u, 0x3d8e7370879bef3bu,
    0x496b2056c596e052u, 0x550741a89e326b34u, 0x6058df5418f55b76u,
    0x6b56d42270febd23u, 0x75f8e30a4d94965bu, 0x8037c8540351bf30u,
    0x8a0d465ca66eeeedu, 0x93742de01ef538eau, 0x9c6861cd891e2155u,
    0xa4e6d6c325f3d155u, 0xaced8e673b74b671u, 0xb47b8ee8d97bc76fu,
    0xbb90d7060086113au, 0xc22e4f03b99437d9u, 0xc855b71006ed1ec6u,
    0xce09938d14b81142u, 0xd34d17c8b9d58455u, 0xd8240fa35199202eu,
    0xdc92c8a58004eb79u, 0xe09dfafde6c3019bu, 0xe44ab2d69fe8aff0u,
    0xe79e3a66f9294e7au, 0xea9e0518eb7118d4u, 0xed4f9c0baf799552u,
    0xefb88c2e1cc0dc95u, 0xf1de561cb311b494u, 0xf3c65fe0b9ed8264u,
    0xf575e8a028c16635u, 0xf6f1fe41625fdda8u, 0xf83f74fa775ae5e9u,
    0xf962e0b9ccccd65au, 0xfa60904dcd136316u, 0xfb3c8a2aba2610b0u,
    0xfbfa8aa8d2443a7du, 0xfc9e0391a7037fd5u, 0xfd2a1cd1b076e46bu,
    0xfda1b622a5b08dc3u, 0xfe076983ce82ba82u, 0xfe5d8e57298a40f0u,
    0xfea63cfcb500b3e1u, 0xfee352c838b9887du, 0xff1676316e2a95cfu,
    0xff411b2225f61939u, 0xff648749eaf8e227u, 0xff81d662804b5ec0u,
    0xff99fe5456447968u, 0xffadd32d9c3c2475u, 0xffbe0ae1d8c8cb19u,
    0xffcb40cae4d226b1u, 0xffd5f8e6c0067ba8u, 0xffdea2cff404aedfu,
    0xffe59c701f55c13au, 0xffeb346dcd571085u, 0xffefac57f9e31157u,
    0xfff33a928dd0e30eu, 0xfff60c07cc4bc131u, 0xfff845a31915ca54u,
    0xfffa0599bdb618ccu, 0xfffb648667d8bae7u, 0xfffc765c0dd5cb5cu,
    0xfffd4b34bed80dfau, 0xfffdf000a91dd62eu, 0xfffe6f1958283a8du,
    0xfffed0bcdb5b3c76u, 0xffff1b742fbea6dbu, 0xffff5467f099717cu,
    0xffff7fa5fd2c5c83u, 0xffffa05a6fd913b4u, 0xffffb8fdf5f47b88u,
    0xffffcb7b504bcc1fu, 0xffffd94d838cffebu, 0xffffe39805815936u,
    0xffffeb3a0051672cu, 0xfffff0dd97a1d77fu, 0xfffff503f3e223dau,
    0xfffff80eb62df411u, 0xfffffa475a2730eau, 0xfffffbe4f2ab59a8u,
    0xfffffd1099b57252u, 0xfffffde8da9e76e5u, 0xfffffe844fc830aeu,
    0xfffffef3a122e752u, 0xffffff430789cb6eu, 0xffffff7b714b67f4u,
    0xffffffa35e0d2263u, 0xffffffbf834f9499u, 0xffffffd346f3ccfeu,
    0xffffffe11a0e9317u, 0xffffffeabbede399u, 0xfffffff16b541262u,
    0xfffffff60a77852au, 0xfffffff939370b20u, 0xfffffffb68170dc9u,
    0xfffffffce5f46f24u, 0xfffffffde9db1916u, 0xfffffffe9a0eb7e5u,
    0xffffffff110c81d6u, 0xffffffff61179138u, 0xffffffff96b9c56du,
    0xffffffffba85f0acu, 0xffffffffd252ae63u, 0xffffffffe2159c34u,
    0xffffffffec7b54e5u, 0xfffffffff3505808u, 0xfffffffff7c922d1u,
    0xfffffffffab385d7u, 0xfffffffffc984220u, 0xfffffffffdd1d6c4u,
    0xfffffffffe9be821u, 0xffffffffff1d9bfeu, 0xffffffffff7089aeu,
    0xffffffffffa55a79u, 0xffffffffffc6dc0bu, 0xffffffffffdc086du,
    0xffffffffffe95c59u, 0xfffffffffff1b7a6u, 0xfffffffffff6efc7u,
    0xfffffffffffa2f06u, 0xfffffffffffc3226u, 0xfffffffffffd7021u,
    0xfffffffffffe33a6u, 0xfffffffffffeab67u, 0xfffffffffffef477u,
    0xffffffffffff20deu, 0xffffffffffff3bbfu, 0xffffffffffff4bf4u,
    0xffffffffffff55b0u, 0xffffffffffff5b83u, 0xffffffffffff5efcu,
    0xffffffffffff610cu, 0xffffffffffff6244u, 0xffffffffffff62fcu,
    0xffffffffffff6368u, 0xffffffffffff63a7u, 0xffffffffffff63ccu,
    0xffffffffffff63e2u, 0xffffffffffff63efu, 0xffffffffffff63f7u,
    0xffffffffffff63fcu, 0xffffffffffff63ffu, 0xffffffffffff6401u,
};

static const uint8_t pri_noise_guide[256] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  1,  1,  1,  1,  1,  1,
    1,  1,  1,  1,  1,  1,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  4,  4,  4,  4,  4,  4,  4,
    4,  4,  4,  4,  4,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  6,  6,
    6,  6,  6,  6,  6,  6,  6,  6,  6,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,
    7,  7,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  9,  9,  9,  9,  9,  9,
    9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 11, 11, 11,
    11, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 13, 13, 13,
    13, 13, 13, 13, 13, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15,
    15, 15, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 17, 17, 18, 18,
    18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 21, 21,
    21, 21, 21, 22, 22, 22, 22, 22, 23, 23, 23, 23, 24, 24, 24, 24, 25, 25, 25,
    25, 26, 26, 26, 27, 27, 27, 28, 28, 28, 29, 29, 30, 30, 31, 31, 32, 32, 33,
    34, 34, 35, 36, 37, 39, 40, 42, 46,
};

#endif
