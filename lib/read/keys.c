/*
 * The keys of a scenario: one table says everything about each, its name, what
 * it holds, its range, which networks use it and where it is stored.
 */
#include "keys.h"
#include "pricer_input.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct pricer_scenario, field)
#define ERDOS (1u << PRI_GENERATOR_ERDOS_RENYI)
#define RING (1u << PRI_GENERATOR_RING)
#define MMWAVE (1u << PRI_GENERATOR_MMWAVE)
#define GEOMETRIC (1u << PRI_GENERATOR_GEOMETRIC)
#define FILES (1u << PRI_GENERATOR_FILES)

static const struct pri_key keys[] = {
    {"scheme", PRI_KEY_CHOICE, AT(scheme), 0, 0, CLOSED, "sum|forward", 0},
    {"hops", PRI_KEY_COUNT, AT(relays), 0, PRICER_HOPS_MAX, CLOSED, NULL, 0},
    {"release", PRI_KEY_CHOICE, AT(release), 0, 0, CLOSED,
     "best|sphere|gaussian", 0},
    {"dimension", PRI_KEY_COUNT, AT(dimension), 1, 1e12, CLOSED, NULL, 0},
    {"radius", PRI_KEY_NUMBER, AT(radius), 0, 1e300, OPEN_LOW, NULL, 0},
    {"diameter", PRI_KEY_NUMBER, AT(diameter), 0, 1e300, OPEN_LOW, NULL, 0},
    {"reference", PRI_KEY_CHOICE, AT(reference), 0, 0, CLOSED, "none|last", 0},
    {"step", PRI_KEY_NUMBER, AT(step), 0, 1e300, OPEN_LOW, NULL, 0},
    {"rounds", PRI_KEY_COUNT, AT(rounds), 1, 1e9, CLOSED, NULL, 0},
    {"repeat", PRI_KEY_COUNT, AT(repeat), 1, PRICER_REPEAT_MAX, CLOSED, NULL,
     0},
    {"seed", PRI_KEY_COUNT, AT(seed), 0, 9e15, CLOSED, NULL, 0},
    {"network.generator", PRI_KEY_CHOICE, AT(generator), 0, 0, CLOSED,
     "erdos-renyi|ring|mmwave|geometric", 0},
    {"network.nodes", PRI_KEY_COUNT, AT(nodes), 1, 1e9, CLOSED, NULL,
     ERDOS | RING | GEOMETRIC},
    {"network.uplink", PRI_KEY_LIST, AT(uplink), 0, 1, CLOSED, NULL,
     ERDOS | RING | MMWAVE | GEOMETRIC},
    {"network.p", PRI_KEY_NUMBER, AT(p), 0, 1, CLOSED, NULL, ERDOS | RING},
    {"network.hops", PRI_KEY_COUNT, AT(hops), 1, 1e9, CLOSED, NULL, RING},
    {"network.reciprocity", PRI_KEY_NUMBER, AT(reciprocity), 0, 1, CLOSED, NULL,
     0},
    {"network.positions", PRI_KEY_PAIRS, AT(positions), -1e9, 1e9, CLOSED, NULL,
     MMWAVE},
    {"network.preset", PRI_KEY_CHOICE, AT(preset), 0, 0, CLOSED, "scattered",
     MMWAVE},
    {"network.density", PRI_KEY_NUMBER, AT(density), 0, 1e9, OPEN_LOW, NULL,
     GEOMETRIC},
    {"network.cutoff", PRI_KEY_NUMBER, AT(cutoff), 0, 1, CLOSED, NULL,
     MMWAVE | GEOMETRIC},
    {"network.good.count", PRI_KEY_COUNT, AT(good_count), 0, 1e9, CLOSED, NULL,
     ERDOS | RING},
    {"network.good.fraction", PRI_KEY_NUMBER, AT(good_fraction), 0, 1, CLOSED,
     NULL, GEOMETRIC},
    {"network.good.uplink", PRI_KEY_NUMBER, AT(good_uplink), 0, 1, CLOSED, NULL,
     ERDOS | RING | GEOMETRIC},
    {"network.names", PRI_KEY_NAMES, AT(names), 0, 0, CLOSED, NULL,
     ERDOS | RING | MMWAVE | GEOMETRIC},
    {"network.files.nodes", PRI_KEY_TEXT, AT(nodes_file), 0, 0, CLOSED, NULL,
     FILES},
    {"network.files.links", PRI_KEY_TEXT, AT(links_file), 0, 0, CLOSED, NULL,
     FILES},
    {"trust.eps", PRI_KEY_NUMBER, AT(eps), 0, INFINITY, OPEN_LOW, NULL, 0},
    {"trust.delta", PRI_KEY_NUMBER, AT(delta), 0, 1, OPEN_LOW, NULL, 0},
    {"trust.self.eps", PRI_KEY_NUMBER, AT(self_eps), 0, INFINITY, OPEN_LOW,
     NULL, 0},
    {"trust.self.delta", PRI_KEY_NUMBER, AT(self_delta), 0, 1, OPEN_LOW, NULL,
     0},
    {"trust.server.eps", PRI_KEY_NUMBER, AT(server_eps), 0, INFINITY, OPEN_LOW,
     NULL, 0},
    {"trust.server.delta", PRI_KEY_NUMBER, AT(server_delta), 0, 1, OPEN_LOW,
     NULL, 0},
    {"trust.everyone.eps", PRI_KEY_NUMBER, AT(everyone_eps), 0, 1e300, OPEN_LOW,
     NULL, 0},
    {"trust.everyone.delta", PRI_KEY_NUMBER, AT(everyone_delta), 0, 1, CLOSED,
     NULL, 0},
    {"trust.ring.hops", PRI_KEY_COUNT, AT(ring_hops), 0, 1e9, CLOSED, NULL,
     ~FILES},
    {"trust.ring.eps", PRI_KEY_NUMBER, AT(ring_eps), 0, INFINITY, OPEN_LOW,
     NULL, ~FILES},
    {"trust.ring.delta", PRI_KEY_NUMBER, AT(ring_delta), 0, 1, OPEN_LOW, NULL,
     ~FILES},
    {"trust.probable.above", PRI_KEY_NUMBER, AT(probable_above), 0, 1, CLOSED,
     NULL, ~FILES},
    {"trust.probable.eps", PRI_KEY_NUMBER, AT(probable_eps), 0, INFINITY,
     OPEN_LOW, NULL, ~FILES},
    {"trust.probable.delta", PRI_KEY_NUMBER, AT(probable_delta), 0, 1, OPEN_LOW,
     NULL, ~FILES},
    {"objective.bias", PRI_KEY_CHOICE, AT(bias), 0, 0, CLOSED,
     "worst-case|unbiased|l1|l2", 0},
    {"objective.lambda", PRI_KEY_NUMBER, AT(lambda), 0, 1e300, CLOSED, NULL, 0},
    {"objective.calibration", PRI_KEY_CHOICE, AT(calibration), 0, 0, CLOSED,
     "analytic|classic", 0},
};
_Static_assert(sizeof keys / sizeof *keys == PRI_SCENARIO_KEYS,
               "PRI_SCENARIO_KEYS is the number of rows");

int pri_key_find(const char *name)
{
    size_t length = strlen(name);
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++)
        if (strlen(keys[k].name) == length &&
            memcmp(keys[k].name, name, length) == 0)
            return k;
    return -1;
}

const struct pri_key *pri_key_at(int place)
{
    return &keys[place];
}

bool pri_key_is_section(const char *name)
{
    size_t length = strlen(name);
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++)
        if (strncmp(keys[k].name, name, length) == 0 &&
            keys[k].name[length] == '.')
            return true;
    return false;
}

/* A key that is written without its section ("eps") is the first that ends so;
 * for anything else it is the nearest name, of keys and the sections they are
 * in. */
bool pri_key_guess(const char *name, char *text, size_t room)
{
    char sections[PRI_SCENARIO_KEYS][32];
    const char *names[2 * PRI_SCENARIO_KEYS], *near = NULL;
    size_t length = strlen(name);
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++) {
        const char *point = strrchr(keys[k].name, '.');
        if (near == NULL && point != NULL && strcmp(point + 1, name) == 0)
            near = keys[k].name;
        snprintf(sections[k], sizeof sections[k], "%.*s",
                 point != NULL ? (int)(point - keys[k].name) : 0, keys[k].name);
        names[2 * k] = keys[k].name;
        names[2 * k + 1] = sections[k];
    }
    if (near == NULL && length > 0)
        near = pricer_word_nearest(name, names, 2 * PRI_SCENARIO_KEYS,
                                   sizeof *names);
    if (near != NULL)
        snprintf(text, room, "%s", near);
    return near != NULL;
}

enum pricer_status pri_scenario_fault(const struct pricer_scenario *scenario,
                                      const char *key,
                                      struct pricer_fault *fault,
                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pri_fault_list(fault, PRICER_VALUE, format, arguments);
    va_end(arguments);
    int k = pri_key_find(key);
    pri_fault_locate(fault, scenario->path, k < 0 ? 0 : scenario->line[k]);
    return PRICER_VALUE;
}

/* ---------------------------------------------------------------- values -- */

static enum pricer_status refuse_range(const struct pri_key *key, double value,
                                       struct pricer_fault *fault)
{
    char low[24] = "", high[24] = "";
    if (key->low == 0 && key->high == 1 && key->ends == CLOSED)
        return pri_fault(fault, PRICER_VALUE,
                         "%s = %g is not between 0 and 1%s", key->name, value,
                         pri_ask_percent(value));
    snprintf(low, sizeof low, "%g", key->low);
    snprintf(high, sizeof high, "%g", key->high);
    return pri_fault(fault, PRICER_VALUE, "%s = %.15g is outside %s%s, %s]",
                     key->name, value, key->ends == OPEN_LOW ? "(" : "[", low,
                     high);
}

enum pricer_status pri_key_parse(const struct pri_key *key, const char *text,
                                 double *value, struct pricer_fault *fault)
{
    double parsed;
    if (!pri_parse_number(text, &parsed))
        return pri_fault(fault, PRICER_FORMAT,
                         "%s is '%.60s', expected a number", key->name, text);
    bool low = key->ends == OPEN_LOW ? parsed > key->low : parsed >= key->low;
    if (!low || parsed > key->high)
        return refuse_range(key, parsed, fault);
    if (key->kind == PRI_KEY_COUNT && parsed != floor(parsed))
        return pri_fault(fault, PRICER_FORMAT, "%s = %g is not a whole number",
                         key->name, parsed);
    *value = parsed;
    return PRICER_OK;
}

static enum pricer_status store_choice(const struct pri_key *key,
                                       const char *text, int *store,
                                       struct pricer_fault *fault)
{
    const char *words = key->words;
    size_t length = strlen(text);
    for (int place = 0;; place++) {
        size_t width = strcspn(words, "|");
        if (width == length && memcmp(words, text, width) == 0) {
            *store = place;
            return PRICER_OK;
        }
        if (words[width] == '\0')
            return pri_fault(fault, PRICER_VALUE, "%s is '%.60s', expected %s",
                             key->name, text, key->words);
        words += width + 1;
    }
}

enum pricer_status pri_key_store(struct pricer_scenario *scenario,
                                 const struct pri_key *key, const char *text,
                                 struct pricer_fault *fault)
{
    void *store = (char *)scenario + key->offset;
    double value;
    if (key->kind == PRI_KEY_CHOICE)
        return store_choice(key, text, store, fault);
    if (key->kind == PRI_KEY_TEXT) {
        if (text[0] == '\0')
            return pri_fault(fault, PRICER_VALUE, "%s is empty", key->name);
        char *copy = strdup(text);
        if (copy == NULL)
            return PRICER_MEMORY;
        free(*(char **)store);
        *(char **)store = copy;
        return PRICER_OK;
    }
    if (key->kind == PRI_KEY_NAMES)
        return pri_fault(fault, PRICER_FORMAT, "%s: expected a list of names",
                         key->name);
    enum pricer_status status = pri_key_parse(key, text, &value, fault);
    if (status != PRICER_OK)
        return status;
    if (key->kind == PRI_KEY_NUMBER) {
        *(double *)store = value;
    } else if (key->kind == PRI_KEY_COUNT) {
        *(int64_t *)store = (int64_t)value;
    } else {
        struct pri_list *list = store;
        double *values = pri_alloc(1, sizeof *values);
        if (values == NULL)
            return PRICER_MEMORY;
        free(list->values);
        *values = value;
        *list = (struct pri_list){values, 1};
    }
    return PRICER_OK;
}

void pri_scenario_clear(struct pricer_scenario *scenario)
{
    memset(scenario, 0, sizeof *scenario);
    scenario->generator = -1;
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++) {
        void *store = (char *)scenario + keys[k].offset;
        if (keys[k].kind == PRI_KEY_NUMBER)
            *(double *)store = NAN;
        else if (keys[k].kind == PRI_KEY_COUNT)
            *(int64_t *)store = -1;
        else if (keys[k].kind == PRI_KEY_CHOICE)
            *(int *)store = -1;
    }
}
