/*
 * Every account of privacy on a grid of extreme parameters, which it prints:
 * no overflow, nothing that is not a number, no negative delta and none above
 * 1, and what must grow grows. Brackets are compared by their far ends: the
 * lower end of what must be smaller with the upper end of what must be larger.
 */
#include "tests/clique.h"
#include "pricer.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const double epsilons[] = {0,  1e-6, 1e-3, .1,  1,
                                  10, 1e3,  1e6,  1e9, INFINITY};
static const double ratios[] = {0,  1e-12, 1e-6, 1e-2, 1,
                                30, 1e3,   1e6,  1e12, INFINITY};
/* Weights and noises in units of these. */
static const double units[] = {1e-150, 1e-60, 1, 1e60, 1e140};
static const double deltas[] = {1e-300, 1e-100, 1e-10, 1e-3, .5, 1};
/* Of statements: the least that is accepted is 1e-290. */
static const double stated[] = {1e-287, 1e-100, 1e-10, 1e-3, .5, 1};
static const double chances[] = {1e-300, 1e-9, .5, 1 - 1e-12, 1};
static const int64_t rounds[] = {1, 2, 1000, 1000000};
static const int64_t times_most = 1000000000 / 3;

static void print_grid(const char *name, const double *values, int count)
{
    char line[256];
    int at = snprintf(line, sizeof line, "%-10s", name);
    for (int k = 0; k < count; k++)
        at += snprintf(line + at, sizeof line - (size_t)at, " %g", values[k]);
    print_message("%s\n", line);
}

static void test_gaussian(void **state)
{
    (void)state;
    print_grid("eps", epsilons, COUNT(epsilons));
    print_grid("mu", ratios, COUNT(ratios));
    for (int e = 0; e < COUNT(epsilons); e++)
        for (int m = 0; m < COUNT(ratios); m++) {
            double delta = pricer_gaussian_delta(epsilons[e], ratios[m]);
            assert_true(delta >= 0 && delta <= 1);
            if (e > 0)
                assert_true(delta <=
                            pricer_gaussian_delta(epsilons[e - 1], ratios[m]));
            if (m > 0)
                assert_true(delta >=
                            pricer_gaussian_delta(epsilons[e], ratios[m - 1]));
        }
}

/* More trust, a larger delta, fewer rounds: more may be said. */
static void test_calibrate(void **state)
{
    (void)state;
    int points = 0;
    print_grid("delta", deltas, COUNT(deltas));
    print_grid("p", chances, COUNT(chances));
    for (int c = 0; c < COUNT(chances); c++)
        for (int d = 0; d < COUNT(deltas); d++) {
            double fewer[COUNT(epsilons)];
            for (int r = 0; r < COUNT(rounds); r++) {
                double before = 0, mu = 0;
                if (r == 3 && d % 3 > 0) /* these take their time */
                    continue;
                for (int e = 1; e < COUNT(epsilons); e++, before = mu) {
                    assert_int_equal(
                        pricer_calibrate(
                            &(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC,
                                                    epsilons[e], deltas[d],
                                                    rounds[r], chances[c]},
                            &mu, NULL, NULL),
                        PRICER_OK);
                    points++;
                    assert_true(mu > 0 && mu >= before * (1 - 1e-11));
                    if (isfinite(epsilons[e]) && isfinite(mu))
                        assert_true(pricer_gaussian_delta(epsilons[e], mu) <=
                                    deltas[d]);
                    assert_true(r == 0 || mu <= fewer[e] * (1 + 1e-11));
                    fewer[e] = mu;
                }
            }
        }
    print_message("calibration: %d points\n", points);
}

/* ------------------------------------------------------------ statements -- */

/* Three nodes, each linked to each. */
struct place {
    double p, reciprocity, radius, weight, noise, self_noise;
    int64_t dimension;
};

static struct pricer_network *make_network(const struct place *place)
{
    return clique_network((struct clique){3, place->p, place->p,
                                          place->reciprocity, NAN,
                                          place->radius, place->dimension});
}

/* Every link has another noise. */
static struct pricer_plan *make_plan(const struct pricer_network *network,
                                     const struct place *place)
{
    struct pricer_plan *plan =
        clique_plan(network, place->weight, place->noise, place->self_noise);
    for (int32_t l = 0; l < network->links; l++)
        plan->noise[l] *= 1 + l;
    return plan;
}

enum { KINDS = 7 };

static struct pricer_question question_of(int kind, int radio)
{
    static const int32_t member = 2;
    static const enum pricer_observer observers[KINDS] = {
        PRICER_OBSERVER_LINK,      PRICER_OBSERVER_RELAY,
        PRICER_OBSERVER_RELAY,     PRICER_OBSERVER_SERVER,
        PRICER_OBSERVER_COALITION, PRICER_OBSERVER_COALITION,
        PRICER_OBSERVER_SERVER};
    return (struct pricer_question){
        .observer = observers[kind],
        .protect = kind == 2 || kind == 6 ? PRICER_PROTECT_IDENTITY
                                          : PRICER_PROTECT_DATA,
        .eavesdropper = radio ? PRICER_RADIO : PRICER_RECEIVER,
        .members = &member,
        .member_count = 1,
        .with_server = kind == 5,
        .threads = 1};
}

static int statements;

/* The first statement; all must make sense. */
static struct pricer_statement ask(const struct place *place,
                                   struct pricer_question question)
{
    struct pricer_network *network = make_network(place);
    struct pricer_plan *plan = make_plan(network, place);
    struct pricer_statement *all = NULL, first;
    int64_t count = 0;
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &all, &count, NULL),
        PRICER_OK);
    assert_true(count > 0);
    for (int64_t k = 0; k < count; k++) {
        const struct pricer_statement *s = &all[k];
        if (!(s->eps_lower >= 0) || !(s->eps >= s->eps_lower) ||
            !(s->floor >= 0 && s->floor <= 1))
            fail_msg("observer %d p %g weight %g noise %g delta %g rounds "
                     "%lld: [%g, %g] floor %g",
                     (int)s->observer, place->p, place->weight, place->noise,
                     s->delta, (long long)question.rounds, s->eps_lower, s->eps,
                     s->floor);
        statements++;
    }
    first = all[0];
    pricer_statements_free(all);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return first;
}

/* That the first is not above the second, as far as brackets tell. */
static void in_order(const char *what, const struct place *place, int kind,
                     struct pricer_statement less, struct pricer_statement more)
{
    if (!(less.eps_lower <= more.eps * (1 + 1e-9)))
        fail_msg("%s, kind %d, p %g weight %g noise %g radius %g: [%g, %g] at "
                 "delta %g above [%g, %g] at %g",
                 what, kind, place->p, place->weight, place->noise,
                 place->radius, less.eps_lower, less.eps, less.delta,
                 more.eps_lower, more.eps, more.delta);
}

/* From one place: a smaller delta, more rounds, more signal, lost packets
 * heard: never less eps. */
static void check_place(const struct place *place, int kind, double delta,
                        int64_t times)
{
    struct pricer_question question = question_of(kind, 0);
    struct place larger = *place;
    question.delta = delta;
    question.rounds = times;
    struct pricer_statement here = ask(place, question);
    larger.weight *= 2;
    in_order("more signal", place, kind, here, ask(&larger, question));
    question.delta = fmax(delta * 1e-3, 1e-290);
    in_order("less delta", place, kind, here, ask(place, question));
    question.delta = delta;
    question.rounds = times * 3;
    in_order("more rounds", place, kind, here, ask(place, question));
    question.rounds = times;
    question.eavesdropper = PRICER_RADIO;
    in_order("radio", place, kind, here, ask(place, question));
}

static void test_statements(void **state)
{
    (void)state;
    static const double radii[] = {1e-6, 1, 1e6};
    static const double noises[] = {0, 1, 1e-12, 1e12};
    static const int64_t dimensions[] = {1, 128, 1 << 22};
    uint64_t seed = 9;
    print_grid("radius", radii, COUNT(radii));
    print_grid("noise", noises, COUNT(noises));
    for (int r = 0; r < COUNT(rounds); r++)
        for (int c = 0; c < COUNT(chances); c++)
            for (int m = 1; m < COUNT(ratios) - 1; m++) {
                /* Many rounds take their time. */
                if ((c + m) % (int[]){2, 3, 5, 12}[r] > 0)
                    continue;
                struct place place = {
                    .p = chances[c],
                    .reciprocity = (double)(test_random(&seed) % 3) / 2,
                    .radius = radii[test_random(&seed) % 3],
                    .noise = noises[test_random(&seed) % 4],
                    .dimension = dimensions[test_random(&seed) % 3]};
                double unit = place.noise > 0 ? place.noise : 1;
                place.weight = ratios[m] * unit / place.radius / 2;
                place.self_noise = noises[test_random(&seed) % 4];
                double scale = units[test_random(&seed) % COUNT(units)];
                place.weight *= scale;
                place.noise *= scale;
                place.self_noise *= scale;
                int kind = (int)(test_random(&seed) % KINDS);
                if (r >= 2 && kind % 2 == 0 && (c + m) % 12 > 0)
                    kind++; /* composing identities takes longest */
                double delta = stated[test_random(&seed) % COUNT(stated)];
                check_place(&place, kind, delta, rounds[r]);
                check_place(&place, (kind + 2) % KINDS, 1e-5,
                            r == 3 && m % 2 ? times_most : rounds[r]);
            }
    print_message("statements: %d\n", statements);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_calibrate),
        cmocka_unit_test(test_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
