/*
 * The dense random networks of the planner's benchmarks, and from a network to
 * a quadratic program for generic solvers.
 */
#include "dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Uniform in [0, 1); splitmix64. */
static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void *room(int64_t count, size_t size)
{
    void *made = calloc((size_t)count + 1, size);
    if (made == NULL) {
        fputs("bench: out of memory\n", stderr);
        exit(1);
    }
    return made;
}

static double slope_of(double eps, double delta)
{
    return isinf(eps) ? 0 : 2 / eps * sqrt(2 * log(1.25 / delta));
}

struct dense dense_make(int32_t n)
{
    static const double trust[] = {.1, 1, 10, 1000};
    uint64_t state = (uint64_t)n;
    struct pricer_node *nodes = room(n, sizeof *nodes);
    struct pricer_link *links = room((int64_t)n * n, sizeof *links);
    struct dense dense = {NULL, room((int64_t)n * n, sizeof(double)),
                          room(n, sizeof(double))};
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++)
        nodes[i] = (struct pricer_node){.05 + .9 * uniform(&state), INFINITY, 1,
                                        NAN, NAN};
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i + 1; j < n; j++) {
            double p = .05 + .9 * uniform(&state);
            double joint = p * p + uniform(&state) * (p - p * p);
            double eps[2] = {trust[(int)(4 * uniform(&state))],
                             trust[(int)(4 * uniform(&state))]};
            links[count++] = (struct pricer_link){i, j, p, joint, eps[0], 1e-3};
            links[count++] = (struct pricer_link){j, i, p, joint, eps[1], 1e-3};
        }
    struct pricer_fault fault = {""};
    if (pricer_network_build(&(struct pricer_network_parts){128, 1, 1, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &dense.network, NULL, &fault) != PRICER_OK) {
        fprintf(stderr, "bench: %s\n", fault.text);
        exit(1);
    }
    for (int32_t l = 0; l < dense.network->links; l++)
        dense.slope[l] =
            slope_of(dense.network->eps[l], dense.network->delta[l]);
    free(nodes);
    free(links);
    return dense;
}

void dense_free(struct dense *dense)
{
    pricer_network_free(dense->network);
    free(dense->slope);
    free(dense->self_slope);
}

struct bench_case bench_case_at(int k, int32_t n)
{
    const struct bench_case cases[BENCH_CASES] = {
        {"worst-case", PRICER_BIAS_WORST_CASE, 0},
        {"unbiased", PRICER_BIAS_UNBIASED, 0},
        {"l1 0.1", PRICER_BIAS_L1, .1},
        {"l1 0.5/n^2", PRICER_BIAS_L1, .5 / n / n},
        {"l2 0.1", PRICER_BIAS_L2, .1},
    };
    return cases[k];
}

/* --------------------------------------------------------------- program -- */

/* Where the variables of a program begin: shares of links, of own links, sums
 * over relays, what their sum lacks of n, and what the bias term needs. */
struct layout {
    int own, relay, lack, bias, variables, rows;
};

static struct layout layout_of(const struct pricer_network *net,
                               enum pricer_bias bias)
{
    struct layout at = {.own = net->links};
    at.relay = at.own + net->nodes;
    at.lack = at.relay + net->nodes;
    at.bias = at.lack + 1;
    at.variables = at.bias;
    if (bias == PRICER_BIAS_L1)
        at.variables += 2 * net->nodes; /* above and below 1 */
    if (bias == PRICER_BIAS_L2 || bias == PRICER_BIAS_WORST_CASE)
        at.variables += net->nodes; /* the bias; what a weight lacks of 1 */
    at.rows = 2 * net->nodes + 1;
    return at;
}

static void add_entry(struct program *program, int row, int column,
                      double value)
{
    program->row[program->entries] = row;
    program->column[program->entries] = column;
    program->value[program->entries++] = value;
}

/* Squares and crosses of the shares, and their two sums each. Rows 0 to n - 1
 * are the sums over relays, row n their sum, then the sums of the nodes. */
static void add_shares(const struct dense *dense, const struct layout *at,
                       struct program *program)
{
    const struct pricer_network *net = dense->network;
    int n = net->nodes;
    double square = net->radius * net->radius;
    for (int l = 0; l < net->links; l++) {
        int i = net->from[l], j = net->to[l], back = net->partner[l];
        double p = net->p[l], reach = net->uplink[j] * p;
        double noise = (double)net->dimension * dense->slope[l];
        program->square[l] =
            (square * (1 - p) + noise * dense->slope[l]) / reach;
        add_entry(program, j, l, 1);
        add_entry(program, n + 1 + i, l, 1);
        if (back > l) {
            double both = net->joint[l] / (p * net->p[back]);
            program->cross_a[program->crosses] = l;
            program->cross_b[program->crosses] = back;
            program->cross[program->crosses++] = 2 * square * (both - 1);
        }
    }
    for (int i = 0; i < n; i++) {
        double noise = (double)net->dimension * dense->self_slope[i];
        program->square[at->own + i] =
            noise * dense->self_slope[i] / net->uplink[i];
        add_entry(program, i, at->own + i, 1);
        add_entry(program, n + 1 + i, at->own + i, 1);
    }
}

/* A start in which every node's shares add up to 1 and a share is the smaller
 * the more it costs; the sums follow from it. */
static void add_start(const struct pricer_network *net, const struct layout *at,
                      struct program *program)
{
    double *start = program->start;
    for (int i = 0; i < net->nodes; i++) {
        double sum = 1 / (1 + program->square[at->own + i]);
        start[at->own + i] = sum;
        for (int l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            sum += start[l] = 1 / (1 + program->square[l]);
        start[at->own + i] /= sum;
        start[at->relay + i] += start[at->own + i];
        for (int l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            start[l] /= sum;
            start[at->relay + net->to[l]] += start[l];
        }
    }
}

static void add_sums(const struct pricer_network *net, const struct layout *at,
                     struct program *program)
{
    int n = net->nodes;
    double square = net->radius * net->radius;
    for (int j = 0; j < n; j++) {
        int t = at->relay + j;
        program->square[t] = square * (1 - net->uplink[j]) / net->uplink[j];
        program->lower[t] = -INFINITY;
        add_entry(program, j, t, -1);
        add_entry(program, n, t, 1);
    }
    program->square[at->lack] = square; /* sum + lack = n */
    program->lower[at->lack] = -INFINITY;
    program->row_lower[n] = program->row_upper[n] = n;
    add_entry(program, n, at->lack, 1);
}

static void add_bias(const struct pricer_network *net, const struct layout *at,
                     struct bench_case which, struct program *program)
{
    int n = net->nodes;
    double lambda = which.lambda * n * n;
    for (int i = 0; i < n; i++) {
        int row = n + 1 + i, first = at->bias + i;
        program->row_lower[row] = program->row_upper[row] = 1;
        switch (which.bias) {
        case PRICER_BIAS_WORST_CASE: /* weight + missing = 1 */
            add_entry(program, row, first, 1);
            break;
        case PRICER_BIAS_UNBIASED:
            break;
        case PRICER_BIAS_L1: /* weight - above + below = 1 */
            program->linear[first] = program->linear[first + n] = lambda;
            add_entry(program, row, first, -1);
            add_entry(program, row, first + n, 1);
            break;
        case PRICER_BIAS_L2: /* weight - bias = 1 */
            program->square[first] = lambda;
            program->lower[first] = -INFINITY;
            add_entry(program, row, first, -1);
        }
    }
}

struct program program_make(const struct dense *dense, struct bench_case which)
{
    const struct pricer_network *net = dense->network;
    struct layout at = layout_of(net, which.bias);
    int64_t entries = 2 * (int64_t)at.relay + 4 * (int64_t)net->nodes + 1;
    struct program program = {
        .variables = at.variables,
        .rows = at.rows,
        .shares = at.relay,
        .square = room(at.variables, sizeof(double)),
        .linear = room(at.variables, sizeof(double)),
        .lower = room(at.variables, sizeof(double)),
        .start = room(at.variables, sizeof(double)),
        .cross_a = room(net->links, sizeof(int)),
        .cross_b = room(net->links, sizeof(int)),
        .cross = room(net->links, sizeof(double)),
        .row = room(entries, sizeof(int)),
        .column = room(entries, sizeof(int)),
        .value = room(entries, sizeof(double)),
        .row_lower = room(at.rows, sizeof(double)),
        .row_upper = room(at.rows, sizeof(double)),
    };
    add_shares(dense, &at, &program);
    add_sums(net, &at, &program);
    add_bias(net, &at, which, &program);
    add_start(net, &at, &program);
    return program;
}

void program_free(struct program *program)
{
    free(program->square);
    free(program->linear);
    free(program->lower);
    free(program->start);
    free(program->cross_a);
    free(program->cross_b);
    free(program->cross);
    free(program->row);
    free(program->column);
    free(program->value);
    free(program->row_lower);
    free(program->row_upper);
}

double program_value(const struct program *program, const double *x)
{
    double value = 0;
    for (int k = 0; k < program->variables; k++)
        value += (program->square[k] * x[k] + program->linear[k]) * x[k];
    for (int k = 0; k < program->crosses; k++)
        value +=
            program->cross[k] * x[program->cross_a[k]] * x[program->cross_b[k]];
    return value;
}
