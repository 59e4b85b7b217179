/*
 * How wide the brackets of the privacy accounts are, and what they cost.
 *
 *     bench_brackets [--paper] [--random] [--geometric] [--reciprocal]
 *                    [--big] [--list] [--each] [--rounds T] [--delta D] [--kind K]
 *
 * Every kind of statement on the paper's ten-node network (three link
 * probabilities, four bias terms, both calibrations), on random networks of 3
 * to 12 nodes at their extremes and on a geometric one of 200 nodes (1,000 with
 * --big), each for several deltas and numbers of rounds. A row is one kind of
 * statement in one setting; its width is (upper - lower) / upper. --list prints
 * every statement that is wider than 1 %, --each every statement: its setting,
 * and behind tabs its ends and its floor. --reciprocal is about the server in dense
 * networks of 6 to 10 nodes whose links are fully reciprocal, with a row for each.
 */
#include "tests/plans.h"
#include "geometric.h"

#include <stdio.h>
#include <time.h>

#define CLOSE_ENOUGH 0.01
#define NEXT_TO_NOTHING 1e-3

enum { KINDS = 7 };
static const char *const kind_names[KINDS] = {
    "link",   "relay data",    "relay identity",  "server",
    "relays", "relays+server", "one relay+server"};

static struct {
    bool paper, random, geometric, reciprocal, big, list, each;
    int64_t rounds;
    double delta;
    int kind;
} ask = {.kind = -1};

/* All that was seen so far of one kind. */
static struct {
    int64_t statements, wide, open;
    double widest, cpu;
} total[KINDS];

static void fail(const char *why)
{
    fprintf(stderr, "bench_brackets: %s\n", why);
    exit(1);
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static struct pricer_question question_of(int kind, double delta,
                                          int64_t rounds,
                                          enum pricer_eavesdropper who)
{
    static const int32_t members[] = {1, 2};
    static const enum pricer_observer observers[KINDS] = {
        PRICER_OBSERVER_LINK,      PRICER_OBSERVER_RELAY,
        PRICER_OBSERVER_RELAY,     PRICER_OBSERVER_SERVER,
        PRICER_OBSERVER_COALITION, PRICER_OBSERVER_COALITION,
        PRICER_OBSERVER_COALITION};
    return (struct pricer_question){
        .observer = observers[kind],
        .protect = kind == 2 ? PRICER_PROTECT_IDENTITY : PRICER_PROTECT_DATA,
        .eavesdropper = who,
        .delta = delta,
        .rounds = rounds,
        .members = members,
        .member_count = kind == 6 ? 1 : 2,
        .with_server = kind >= 5,
    };
}

/* The width, or 1 where only the upper end is infinite; eps next to nothing
 * counts as 0. */
static double width_of(const struct pricer_statement *s)
{
    if (s->eps == s->eps_lower || s->eps < NEXT_TO_NOTHING)
        return 0;
    return isinf(s->eps) ? 1 : (s->eps - s->eps_lower) / s->eps;
}

static void look(const char *name, const struct pricer_network *network,
                 const struct pricer_plan *plan, int kind, double delta,
                 int64_t rounds, enum pricer_eavesdropper who)
{
    struct pricer_question question = question_of(kind, delta, rounds, who);
    struct pricer_statement *all = NULL;
    struct pricer_fault fault = {""};
    int64_t count = 0, wide = 0, open = 0;
    double widest = 0, start = cpu_now();
    if (pricer_privacy_account(network, plan, &question, &all, &count,
                               &fault) != PRICER_OK)
        fail(fault.text);
    double cpu = cpu_now() - start;
    for (int64_t k = 0; k < count; k++) {
        double width = width_of(&all[k]);
        if (ask.each)
            printf("%s|%s|%s|%lld|%g|%d|%d\t%.17g\t%.17g\t%.17g\n", name,
                   kind_names[kind],
                   pricer_word(PRICER_WORDS_EAVESDROPPER, who),
                   (long long)rounds, delta, (int)all[k].node, (int)all[k].at,
                   all[k].eps_lower, all[k].eps, all[k].floor);
        widest = fmax(widest, width);
        open += width == 1;
        wide += width > CLOSE_ENOUGH;
        if (width > CLOSE_ENOUGH && ask.list)
            printf("    node %d at %d: [%.6g, %.6g] floor %.6g\n",
                   (int)all[k].node, (int)all[k].at, all[k].eps_lower,
                   all[k].eps, all[k].floor);
    }
    if (wide > 0 || cpu > 1)
        printf("%-28s %-17s %-8s T %-5lld delta %-8g %6lld statements, %5lld "
               "wide, widest %.4f %8.3f s\n",
               name, kind_names[kind],
               pricer_word(PRICER_WORDS_EAVESDROPPER, who), (long long)rounds,
               delta, (long long)count, (long long)wide, widest, cpu);
    fflush(stdout);
    total[kind].statements += count;
    total[kind].wide += wide;
    total[kind].open += open;
    total[kind].widest = fmax(total[kind].widest, widest);
    total[kind].cpu += cpu;
    pricer_statements_free(all);
}

/* Every kind, delta, number of rounds and listener. */
static void look_all(const char *name, const struct pricer_network *network,
                     const struct pricer_plan *plan)
{
    static const double deltas[] = {1e-3, 1e-5, 1e-10};
    static const int64_t rounds[] = {1, 10, 1000};
    for (int kind = 0; kind < KINDS; kind++)
        for (int d = 0; d < 3; d++)
            for (int r = 0; r < 3; r++)
                for (int who = 0; who < 2; who++)
                    if ((ask.kind < 0 || ask.kind == kind) &&
                        (ask.delta == 0 || ask.delta == deltas[d]) &&
                        (ask.rounds == 0 || ask.rounds == rounds[r]))
                        look(name, network, plan, kind, deltas[d], rounds[r],
                             (enum pricer_eavesdropper)who);
}

static struct pricer_plan *plan_of(const struct pricer_network *network,
                                   enum pricer_bias bias, double lambda,
                                   enum pricer_calibration calibration)
{
    struct pricer_settings settings = {
        .bias = bias, .lambda = lambda, .calibration = calibration};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault) !=
        PRICER_OK)
        fail(fault.text);
    return plan;
}

static void paper(void)
{
    static const double chances[] = {.1, .5, .9};
    static const struct {
        const char *name;
        enum pricer_bias bias;
        double lambda;
    } terms[] = {{"worst-case", PRICER_BIAS_WORST_CASE, 0},
                 {"unbiased", PRICER_BIAS_UNBIASED, 0},
                 {"l1", PRICER_BIAS_L1, .1},
                 {"l2", PRICER_BIAS_L2, .1}};
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < 4; t++)
            for (int classic = 0; classic < 2; classic++) {
                char name[64];
                struct pricer_network *network = paper_network(chances[c]);
                struct pricer_plan *plan =
                    plan_of(network, terms[t].bias, terms[t].lambda,
                            classic ? PRICER_CALIBRATION_CLASSIC
                                    : PRICER_CALIBRATION_ANALYTIC);
                snprintf(name, sizeof name, "ten %.1f %s %s", chances[c],
                         terms[t].name, classic ? "classic" : "analytic");
                look_all(name, network, plan);
                pricer_plan_free(plan);
                pricer_network_free(network);
            }
}

/* ---------------------------------------------------------------- random -- */

static double one_of(const double *values, int count, uint64_t *seed)
{
    return values[(int)(count * uniform(seed))];
}

/* A network whose probabilities are at their extremes. */
static struct pricer_network *extreme_network(int32_t n, uint64_t *seed)
{
    /* None of them multiply to one of the deltas: there the curve may be flat,
     * and rounding alone decides about eps. */
    static const double chances[] = {1.3e-9, .0117, .1031, .3,       .5,
                                     .7,     .9013, 1,     1 - 1e-9, .971};
    static const double reciprocities[] = {0, .5, 1};
    struct pricer_node nodes[12];
    struct pricer_link links[12 * 12];
    struct pricer_network *network = NULL;
    int64_t count = 0;
    double reciprocity = one_of(reciprocities, 3, seed);
    double same = uniform(seed) < .3 ? one_of(chances, 10, seed) : 0;
    for (int32_t i = 0; i < n; i++) {
        nodes[i] =
            (struct pricer_node){one_of(chances, 10, seed), 1, 1e-3, NAN, NAN};
        for (int32_t j = 0; j < n; j++)
            if (i != j && (same > 0 || uniform(seed) < .8))
                links[count++] = (struct pricer_link){
                    i,   j, same > 0 ? same : one_of(chances, 10, seed),
                    NAN, 1, 1e-3};
    }
    if (pricer_network_build(
            &(struct pricer_network_parts){
                1 + (int64_t)pow(10, 4 * uniform(seed)), 1, reciprocity, nodes,
                n, links, count, NULL, NULL},
            &network, NULL, NULL) != PRICER_OK)
        fail("a random network");
    return network;
}

/* Weights of any size, noise spread over some decades or all alike, and some
 * without any. */
static struct pricer_plan *extreme_plan(const struct pricer_network *network,
                                        uint64_t *seed)
{
    struct pricer_plan *plan = NULL;
    double decades = 6 * uniform(seed) * (uniform(seed) < .7);
    double size = pow(10, 6 * uniform(seed) - 3);
    double bare = uniform(seed) < .3 ? .1 : 0;
    if (pricer_plan_new(network, &plan, NULL) != PRICER_OK)
        fail("out of memory");
    for (int32_t k = 0; k < network->links + network->nodes; k++) {
        bool own = k >= network->links;
        int32_t at = own ? k - network->links : k;
        double weight = uniform(seed);
        double noise = size * pow(10, -decades * uniform(seed));
        if (uniform(seed) < bare)
            noise = 0;
        *(own ? &plan->self_weight[at] : &plan->weight[at]) = weight;
        *(own ? &plan->self_noise[at] : &plan->noise[at]) = noise;
    }
    return plan;
}

static void extremes(int networks)
{
    uint64_t seed = 4;
    for (int k = 0; k < networks; k++) {
        char name[64];
        struct pricer_network *network = extreme_network(3 + k % 10, &seed);
        struct pricer_plan *plan = extreme_plan(network, &seed);
        snprintf(name, sizeof name, "random %d, n %d", k, (int)network->nodes);
        look_all(name, network, plan);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* ------------------------------------------------------------- geometric -- */

static void geometric(int64_t nodes)
{
    struct pricer_network *network = geometric_network(nodes, "1000");
    struct pricer_plan *plan = plan_of(network, PRICER_BIAS_WORST_CASE, 0,
                                       PRICER_CALIBRATION_ANALYTIC);
    look_all("geometric", network, plan);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* ------------------------------------------------------------ reciprocal -- */

/* All nodes reach each other, both directions of a pair at once. */
static struct pricer_network *reciprocal_network(int32_t n, double p)
{
    struct pricer_node nodes[12];
    struct pricer_link links[12 * 12];
    struct pricer_network *network = NULL;
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){.9, .5, 1e-5, NAN, NAN};
        for (int32_t j = 0; j < n; j++)
            if (i != j)
                links[count++] = (struct pricer_link){i, j, p, NAN, 1, 1e-5};
    }
    if (pricer_network_build(&(struct pricer_network_parts){100, 1, 1, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &network, NULL, NULL) != PRICER_OK)
        fail("a reciprocal network");
    return network;
}

static void reciprocal_row(int32_t n, double p, int64_t rounds)
{
    struct pricer_network *network = reciprocal_network(n, p);
    struct pricer_plan *plan = plan_of(network, PRICER_BIAS_WORST_CASE, 0,
                                       PRICER_CALIBRATION_ANALYTIC);
    struct pricer_question question =
        question_of(3, 1e-5, rounds, PRICER_RECEIVER);
    struct pricer_statement *all = NULL;
    struct pricer_fault fault = {""};
    int64_t count = 0;
    double widest = 0, cpu = cpu_now();
    if (pricer_privacy_account(network, plan, &question, &all, &count,
                               &fault) != PRICER_OK)
        fail(fault.text);
    cpu = cpu_now() - cpu;
    for (int64_t k = 0; k < count; k++)
        widest = fmax(widest, width_of(&all[k]));
    printf(
        "reciprocal n %-3d p %.1f T %-4lld eps %.6f width %.1e %8.3f s each\n",
        (int)n, p, (long long)rounds, all[0].eps, widest, cpu / (double)count);
    fflush(stdout);
    pricer_statements_free(all);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void reciprocal(void)
{
    for (int32_t n = 6; n <= 10; n += 2)
        for (int p = 3; p <= 9; p += 3)
            for (int64_t rounds = 1; rounds <= 10; rounds *= 10)
                if (ask.rounds == 0 || ask.rounds == rounds)
                    reciprocal_row(n, p / 10., rounds);
}

static void parse(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        const char *next = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--paper") == 0)
            ask.paper = true;
        else if (strcmp(argv[k], "--random") == 0)
            ask.random = true;
        else if (strcmp(argv[k], "--geometric") == 0)
            ask.geometric = true;
        else if (strcmp(argv[k], "--reciprocal") == 0)
            ask.reciprocal = true;
        else if (strcmp(argv[k], "--big") == 0)
            ask.big = ask.geometric = true;
        else if (strcmp(argv[k], "--list") == 0)
            ask.list = true;
        else if (strcmp(argv[k], "--each") == 0)
            ask.each = true;
        else if (strcmp(argv[k], "--rounds") == 0 && ++k < argc)
            ask.rounds = atoll(next);
        else if (strcmp(argv[k], "--delta") == 0 && ++k < argc)
            ask.delta = strtod(next, NULL);
        else if (strcmp(argv[k], "--kind") == 0 && ++k < argc)
            ask.kind = atoi(next);
        else
            fail("unknown option");
    }
    if (!ask.paper && !ask.random && !ask.geometric && !ask.reciprocal)
        ask.paper = ask.random = ask.geometric = ask.reciprocal = true;
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (ask.paper)
        paper();
    if (ask.random)
        extremes(60);
    if (ask.geometric)
        geometric(ask.big ? 1000 : 200);
    if (ask.reciprocal)
        reciprocal();
    printf("%-18s %12s %8s %8s %10s %12s\n", "observer", "statements", "wide",
           "open", "widest", "CPU seconds");
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-18s %12lld %8lld %8lld %10.4f %12.2f\n", kind_names[kind],
               (long long)total[kind].statements, (long long)total[kind].wide,
               (long long)total[kind].open, total[kind].widest,
               total[kind].cpu);
    return 0;
}
