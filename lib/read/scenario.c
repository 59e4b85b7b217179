/*
 * From a YAML file to a scenario.
 *
 * The YAML is libyaml's document tree, whose nodes know their lines, so that
 * every complaint names one; keys.c says what each key may hold.
 */
#include "keys.h"
#include "pricer_forward.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

char *pri_scenario_path(const struct pricer_scenario *scenario,
                        const char *file)
{
    const char *slash = strrchr(scenario->path, '/');
    if (file[0] == '/' || slash == NULL)
        return strdup(file);
    size_t folder = (size_t)(slash - scenario->path) + 1;
    char *path = pri_alloc((int64_t)(folder + strlen(file) + 1), 1);
    if (path != NULL) {
        memcpy(path, scenario->path, folder);
        strcpy(path + folder, file);
    }
    return path;
}

/* What a walk over the document carries. */
struct walk {
    yaml_document_t *document;
    struct pricer_scenario *scenario;
    struct pricer_fault *fault;
    int64_t line; /* of the node at hand */
};

static int64_t line_of(const yaml_node_t *node)
{
    return (int64_t)node->start_mark.line + 1;
}

/* Append the numbers of a sequence, or of a sequence of pairs. */
static enum pricer_status walk_list(struct walk *walk,
                                    const struct pri_key *key,
                                    const yaml_node_t *node, bool pairs,
                                    struct pri_list *list)
{
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        const yaml_node_t *entry =
            yaml_document_get_node(walk->document, *item);
        walk->line = line_of(entry);
        enum pricer_status status;
        if (pairs && entry->type == YAML_SEQUENCE_NODE &&
            entry->data.sequence.items.top - entry->data.sequence.items.start ==
                2) {
            status = walk_list(walk, key, entry, false, list);
        } else if (pairs || entry->type != YAML_SCALAR_NODE) {
            status = pri_fault(
                walk->fault, PRICER_FORMAT, "%s: expected a list of %s",
                key->name, key->kind == PRI_KEY_PAIRS ? "[x, y]" : "numbers");
        } else {
            status = pri_key_parse(key, (char *)entry->data.scalar.value,
                                   &list->values[list->count], walk->fault);
            list->count += status == PRICER_OK;
        }
        if (status != PRICER_OK)
            return status;
    }
    return PRICER_OK;
}

static enum pricer_status store_list(struct walk *walk,
                                     const struct pri_key *key,
                                     const yaml_node_t *node)
{
    struct pri_list *store =
        (struct pri_list *)((char *)walk->scenario + key->offset);
    int64_t entries =
        node->data.sequence.items.top - node->data.sequence.items.start;
    struct pri_list list = {pri_alloc(2 * entries, sizeof(double)), 0};
    if (list.values == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        walk_list(walk, key, node, key->kind == PRI_KEY_PAIRS, &list);
    if (status == PRICER_OK && list.count == 0)
        status = pri_fault(walk->fault, PRICER_VALUE, "%s is empty", key->name);
    if (status != PRICER_OK) {
        free(list.values);
        return status;
    }
    free(store->values);
    *store = list;
    return PRICER_OK;
}

static void free_names(struct pri_names *names)
{
    for (int64_t k = 0; k < names->count; k++)
        free(names->values[k]);
    free(names->values);
}

/* A list of names; what a name may be is the network's to say. */
static enum pricer_status store_names(struct walk *walk,
                                      const struct pri_key *key,
                                      const yaml_node_t *node)
{
    struct pri_names *store =
        (struct pri_names *)((char *)walk->scenario + key->offset);
    const yaml_node_item_t *first = node->data.sequence.items.start;
    int64_t entries = node->data.sequence.items.top - first;
    struct pri_names names = {pri_alloc(entries, sizeof(char *)), 0};
    enum pricer_status status =
        names.values != NULL ? PRICER_OK : PRICER_MEMORY;
    for (int64_t k = 0; k < entries && status == PRICER_OK; k++) {
        const yaml_node_t *entry =
            yaml_document_get_node(walk->document, first[k]);
        walk->line = line_of(entry);
        if (entry->type != YAML_SCALAR_NODE)
            status = pri_fault(walk->fault, PRICER_FORMAT,
                               "%s: expected a list of names", key->name);
        else if ((names.values[k] = strdup((char *)entry->data.scalar.value)) ==
                 NULL)
            status = PRICER_MEMORY;
        else
            names.count++;
    }
    if (status != PRICER_OK) {
        free_names(&names);
        return status;
    }
    free_names(store);
    *store = names;
    return PRICER_OK;
}

/* What to do in place of a key that was removed. */
static const char *find_hint(const char *name)
{
    if (strcmp(name, "credit") == 0)
        return ": budgets count every packet as heard; what the receiver "
               "alone learns says 'pricer privacy --eavesdropper receiver'";
    if (strcmp(name, "horizon") == 0)
        return ": for averages of rounds plan with 'bias: unbiased', or use "
               "'scheme: forward'";
    return "";
}

static enum pricer_status refuse_key(const char *name,
                                     struct pricer_fault *fault)
{
    char guess[64];
    const char *hint = find_hint(name);
    bool near = *hint == '\0' && pri_key_guess(name, guess, sizeof guess);
    return pri_fault(fault, PRICER_FORMAT, "there is no key %s%s%s%s%s", name,
                     hint, near ? " (did you mean " : "", near ? guess : "",
                     near ? "?)" : "");
}

static enum pricer_status walk_mapping(struct walk *walk,
                                       const yaml_node_t *node,
                                       const char *section);

/* One key of a mapping and what stands behind it. */
static enum pricer_status walk_pair(struct walk *walk, const yaml_node_t *left,
                                    const yaml_node_t *right,
                                    const char *section)
{
    char name[128];
    walk->line = line_of(left);
    if (left->type != YAML_SCALAR_NODE)
        return pri_fault(walk->fault, PRICER_FORMAT, "expected a key");
    snprintf(name, sizeof name, "%s%s%.60s", section,
             section[0] != '\0' ? "." : "", (char *)left->data.scalar.value);
    if (pri_key_is_section(name)) {
        if (right->type != YAML_MAPPING_NODE)
            return pri_fault(walk->fault, PRICER_FORMAT,
                             "%s holds keys of its own, not a value", name);
        return walk_mapping(walk, right, name);
    }
    int k = pri_key_find(name);
    if (k < 0)
        return refuse_key(name, walk->fault);
    if (walk->scenario->line[k] != 0)
        return pri_fault(walk->fault, PRICER_FORMAT,
                         "%s stands here a second time", name);
    walk->scenario->line[k] = walk->line;
    const struct pri_key *key = pri_key_at(k);
    bool listed = key->kind == PRI_KEY_LIST || key->kind == PRI_KEY_PAIRS;
    if (right->type == YAML_SEQUENCE_NODE && listed)
        return store_list(walk, key, right);
    if (right->type == YAML_SEQUENCE_NODE && key->kind == PRI_KEY_NAMES)
        return store_names(walk, key, right);
    if (right->type != YAML_SCALAR_NODE || key->kind == PRI_KEY_PAIRS)
        return pri_fault(walk->fault, PRICER_FORMAT, "%s: expected a %s", name,
                         key->kind == PRI_KEY_PAIRS ? "list of [x, y]"
                                                    : "single value");
    return pri_key_store(walk->scenario, key, (char *)right->data.scalar.value,
                         walk->fault);
}

/* Sections nest two deep at the most, as the names of the keys do, so an alias
 * that points back to its own mapping ends as an unknown key. */
static enum pricer_status walk_mapping(struct walk *walk,
                                       const yaml_node_t *node,
                                       const char *section)
{
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        enum pricer_status status = walk_pair(
            walk, yaml_document_get_node(walk->document, pair->key),
            yaml_document_get_node(walk->document, pair->value), section);
        if (status != PRICER_OK)
            return status;
    }
    return PRICER_OK;
}

/* ------------------------------------------------------------------ file -- */

/* No scenario is larger; a file that is one would not be read by a person. */
enum { LARGEST = 64 << 20 };

/* The whole file as text. A NUL would end the YAML early: refuse it. */
static enum pricer_status read_text(const char *path, char **text,
                                    struct pricer_fault *fault)
{
    char *buffer = NULL;
    size_t length = 0, room = 0;
    enum pricer_status status = PRICER_OK;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(errno));
    while (status == PRICER_OK && !feof(file)) {
        if (room - length < 2) {
            room = 2 * room + 4096;
            char *larger = realloc(buffer, room);
            status = larger == NULL ? PRICER_MEMORY : PRICER_OK;
            buffer = larger == NULL ? buffer : larger;
            continue;
        }
        length += fread(buffer + length, 1, room - length - 1, file);
        if (ferror(file))
            status = pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                               strerror(errno));
        else if (length > LARGEST)
            status = pri_fault(fault, PRICER_FORMAT,
                               "%.300s: larger than any scenario", path);
    }
    fclose(file);
    if (status == PRICER_OK && memchr(buffer, 0, length) != NULL)
        status =
            pri_fault(fault, PRICER_FORMAT, "%.300s: not a text file", path);
    if (status != PRICER_OK) {
        free(buffer);
        return status;
    }
    buffer[length] = '\0';
    *text = buffer;
    return PRICER_OK;
}

/* Parse the text and store every key; the fault gets its line. */
static enum pricer_status read_yaml(struct pricer_scenario *scenario,
                                    struct pricer_fault *fault)
{
    yaml_parser_t parser;
    yaml_document_t document;
    struct walk walk = {&document, scenario, fault, 0};
    if (!yaml_parser_initialize(&parser))
        return PRICER_MEMORY;
    yaml_parser_set_input_string(&parser, (unsigned char *)scenario->text,
                                 strlen(scenario->text));
    enum pricer_status status = PRICER_OK;
    if (!yaml_parser_load(&parser, &document)) {
        status = pri_fault(fault, PRICER_FORMAT, "not YAML: %s",
                           parser.problem != NULL ? parser.problem : "?");
        pri_fault_locate(fault, scenario->path,
                         (int64_t)parser.problem_mark.line + 1);
        yaml_parser_delete(&parser);
        return status;
    }
    yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root == NULL)
        status = pri_fault(fault, PRICER_FORMAT, "the file is empty");
    else if (root->type != YAML_MAPPING_NODE)
        status = pri_fault(fault, PRICER_FORMAT,
                           "expected keys and values, as in 'dimension: 128'");
    else
        status = walk_mapping(&walk, root, "");
    if (status != PRICER_OK && status != PRICER_MEMORY)
        pri_fault_locate(fault, scenario->path, walk.line);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return status;
}

/* "network.p=0.5": set one key as if the file said so. A list is separated by
 * spaces, since a sweep separates its values by commas. */
static enum pricer_status override(struct pricer_scenario *scenario,
                                   const char *setting,
                                   struct pricer_fault *fault)
{
    char name[128];
    size_t length = strcspn(setting, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, setting);
    int k = pri_key_find(name);
    if (setting[length] != '=')
        return pri_fault(fault, PRICER_VALUE,
                         "'%.80s' does not set a key of a scenario: expected "
                         "KEY=VALUE",
                         setting);
    if (k < 0) {
        refuse_key(name, fault);
        return PRICER_VALUE;
    }
    if (scenario->line[k] == 0)
        scenario->line[k] = -1;
    return pri_key_store(scenario, pri_key_at(k), setting + length + 1, fault);
}

static struct pricer_scenario *blank(const char *path)
{
    struct pricer_scenario *scenario = pri_alloc(1, sizeof *scenario);
    if (scenario == NULL)
        return NULL;
    pri_scenario_clear(scenario);
    scenario->path = strdup(path);
    if (scenario->path == NULL) {
        free(scenario);
        return NULL;
    }
    return scenario;
}

enum pricer_status pricer_scenario_read(const char *path,
                                        const char *const *overrides,
                                        int override_count,
                                        struct pricer_scenario **scenario,
                                        struct pricer_fault *fault)
{
    struct pricer_scenario *made = blank(path);
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = read_text(path, &made->text, fault);
    if (status == PRICER_OK)
        status = read_yaml(made, fault);
    for (int k = 0; k < override_count && status == PRICER_OK; k++)
        status = override(made, overrides[k], fault);
    if (status == PRICER_OK)
        status = pri_scenario_complete(made, fault);
    if (status != PRICER_OK) {
        pricer_scenario_free(made);
        return status;
    }
    *scenario = made;
    return PRICER_OK;
}

void pricer_scenario_forward_settings(const struct pricer_scenario *scenario,
                                      struct pricer_forward_settings *settings)
{
    *settings = (struct pricer_forward_settings){
        .rounds = scenario->rounds,
        .hops = (int32_t)scenario->relays,
        .repeat = (int32_t)scenario->repeat,
        .release = (enum pricer_release)scenario->release,
        .seed = (uint64_t)scenario->seed,
    };
}

int64_t pricer_scenario_seed(const struct pricer_scenario *scenario)
{
    return scenario->seed;
}

void pricer_scenario_settings(const struct pricer_scenario *scenario,
                              struct pricer_settings *settings)
{
    *settings = (struct pricer_settings){
        .bias = (enum pricer_bias)scenario->bias,
        .lambda = isnan(scenario->lambda) ? 0 : scenario->lambda,
        .calibration = (enum pricer_calibration)scenario->calibration,
        .rounds = scenario->rounds,
    };
}

void pricer_scenario_free(struct pricer_scenario *scenario)
{
    if (scenario == NULL)
        return;
    free(scenario->path);
    free(scenario->text);
    free(scenario->uplink.values);
    free(scenario->positions.values);
    free_names(&scenario->names);
    free(scenario->nodes_file);
    free(scenario->links_file);
    free(scenario);
}
