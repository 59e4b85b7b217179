/*
 * From a network, a plan and the number of a round to what reaches the server,
 * without making every packet.
 *
 * Conditioned on which links are up, messages m_i lead to
 *
 *     sum_i w_i m_i + N(0, v I),
 *
 * where w_i adds the weights of the paths of node i that are up and v the
 * variances of the noise on them. Sums of independent normal numbers are
 * normal, so drawing w, v and one vector of noise draws the round exactly.
 */
#include "round.h"

#include <math.h>

bool pri_link_is_up(const struct pricer_network *net, uint64_t seed,
                    int64_t round, int32_t link)
{
    int32_t partner = net->partner[link];
    return pricer_round_up(
        seed, round,
        &(struct pricer_pair){net->from[link], net->to[link], net->p[link],
                              partner >= 0 ? net->p[partner] : 0,
                              net->joint[link]});
}

/* Without a plan everything arrives, bare. */
void pri_whole_draw(const struct pricer_network *net,
                    const struct pricer_plan *plan, uint64_t seed,
                    int64_t round, struct pri_whole *whole)
{
    whole->variance = whole->expected = 0;
    whole->likely = plan == NULL ? net->nodes : 0;
    for (int32_t i = 0; i < net->nodes; i++)
        whole->weight[i] = plan == NULL;
    if (plan == NULL)
        return;
    for (int32_t j = 0; j < net->nodes; j++)
        whole->up[j] = pricer_round_up(
            seed, round,
            &(struct pricer_pair){j, PRICER_SERVER, net->uplink[j], 0, 0});
    for (int32_t i = 0; i < net->nodes; i++) {
        if (whole->up[i]) {
            whole->weight[i] += plan->self_weight[i];
            whole->likely += plan->self_weight[i];
            whole->variance += plan->self_noise[i] * plan->self_noise[i];
            whole->expected += plan->self_noise[i] * plan->self_noise[i];
        }
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            double square = plan->noise[l] * plan->noise[l];
            if (!whole->up[net->to[l]] || (plan->weight[l] == 0 && square == 0))
                continue;
            whole->expected += net->p[l] * square;
            whole->likely += net->p[l] * plan->weight[l];
            if (pri_link_is_up(net, seed, round, l)) {
                whole->weight[i] += plan->weight[l];
                whole->variance += square;
            }
        }
    }
}

/* Normal numbers by Box and Muller. */
void pri_whole_noise(double variance, uint64_t seed, int64_t round,
                     int64_t count, double *sum)
{
    const double deviation = sqrt(variance), circle = 2 * acos(-1);
    struct pricer_random random;
    if (deviation == 0)
        return;
    pricer_random_replay(&random, seed, PRICER_PURPOSE_NOISE, round,
                         PRICER_SERVER, PRICER_SERVER);
    for (int64_t c = 0; c < count; c += 2) {
        double first = (double)((pricer_random_word(&random) >> 11) + 1);
        double second = (double)(pricer_random_word(&random) >> 11);
        double size = deviation * sqrt(-2 * log(first * 0x1p-53));
        sum[c] += size * cos(circle * second * 0x1p-53);
        if (c + 1 < count)
            sum[c + 1] += size * sin(circle * second * 0x1p-53);
    }
}
