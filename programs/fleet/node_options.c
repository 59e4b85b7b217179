/*
 * From a node's command line and configuration to what its operator wants.
 */
#include "node_options.h"

#include <stdio.h>

static const struct usage usage = {
    NULL, "",
    "Take part in the rounds of a pricer-server: send noisy shares of a "
    "private\n"
    "vector to the neighbours of the plan, as far as the trust file and the\n"
    "budget ledger allow, and relay for others.",
    "pricer-node --config /etc/pricer/node3.conf"};

/* Options: who this node is, and whom it deals with. */
static void add_peers(struct option_table *table, struct node *node,
                      struct node_arguments *arguments)
{
    const struct option rows[] = {
        {"config", OPTION_TEXT, &arguments->config, "FILE",
         "read options from FILE, a line 'name value' each"},
        {"node", OPTION_COUNT, &arguments->number, "N",
         "this node's number in the study"},
        {"key", OPTION_TEXT, &arguments->files.key, "FILE",
         "its secret key, from pricer keygen"},
        {"server", OPTION_TEXT, &node->server_address, "ADDRESS",
         "where the server is, such as tcp://10.0.0.1:7100"},
        {"server-key", OPTION_TEXT, &arguments->files.server_key, "KEY",
         "the server's public key, or a file with it"},
        {"listen", OPTION_TEXT, &node->listen, "ADDRESS",
         "where neighbours reach this node, such as tcp://*:7103"},
        {"trust", OPTION_TEXT, &arguments->files.trust, "FILE",
         "what may go to whom: CSV to,eps,delta[,total_eps,total_delta]"
         "[,key][,name]"},
        {"neighbours", OPTION_TEXT, &arguments->files.neighbours, "FILE",
         "whom releases are forwarded to and heard from: CSV "
         "node,key,address[,name]"},
        {"first-seen", OPTION_FLAG, &node->first_seen, NULL,
         "believe the server the first key of neighbours without one there"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* Options: what has been spent. */
static void add_ledger(struct option_table *table,
                       struct node_arguments *arguments)
{
    const struct option rows[] = {
        {"ledger", OPTION_TEXT, &arguments->files.ledger, "FILE",
         "what has gone to whom; must be there"},
        {"new-ledger", OPTION_FLAG, &arguments->new_ledger, NULL,
         "make the ledger if it is not there: nothing was sent so far"},
        {"ledger-accept", OPTION_COUNT, &arguments->accept, "ROUND",
         "let the ledger go on after ROUND, whatever was sent up to there, and "
         "stop"},
        {"check", OPTION_FLAG, &arguments->check, NULL,
         "say what would fail and how to cure it, join no round, and stop"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* Options: what is shared. */
static void add_vector(struct option_table *table, struct node *node,
                       struct node_arguments *arguments)
{
    const struct option rows[] = {
        {"diameter", OPTION_ABOVE, &node->diameter, "D",
         "data to be kept from being told apart differ by D at most; twice the "
         "radius"},
        {"data", OPTION_TEXT, &node->vector.file, "FILE",
         "the vector, a row of this .npy file"},
        {"row", OPTION_COUNT, &node->vector.row, "K",
         "which row of it; by default this node's number"},
        {"command", OPTION_TEXT, &node->vector.command, "COMMAND",
         "run this in each round; it writes the vector as .npy"},
        {"feed", OPTION_TEXT, &arguments->files.feed, "unix:PATH",
         "a program hands the vectors in at this socket and gets estimates"},
        {"estimate", OPTION_TEXT, &node->estimate, "FILE",
         "write each round's estimate to this .npy file"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* Options: demonstrations, and what is only looked at. */
static void add_others(struct option_table *table, struct node *node,
                       struct node_arguments *arguments)
{
    const struct option rows[] = {
        {"emulate", OPTION_TEXT, &arguments->emulate, "STUDY",
         "for demonstrations: drop what the study's links would lose"},
        {"seed", OPTION_COUNT, &arguments->seed, "S",
         "of --emulate and --replay-noise"},
        {"replay-after", OPTION_COUNT, &node->emulate.after, "R",
         "for demonstrations: the round before the first one of the seed"},
        {"replay-noise", OPTION_FLAG, &arguments->replay, NULL,
         "for demonstrations: noise from the seed, which protects nothing"},
        {"ledger-show", OPTION_FLAG, &arguments->show, NULL,
         "print the ledger and stop"},
        {"json", OPTION_FLAG, &arguments->json, NULL,
         "print the ledger, or the checks, as one JSON object"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* What is missing on the command line, or NULL. */
static const char *missing(const struct node *node,
                           const struct node_arguments *arguments)
{
    if (arguments->files.ledger == NULL)
        return "--ledger";
    if (arguments->show || arguments->accept >= 0)
        return NULL;
    if (arguments->number < 0)
        return "--node";
    if (arguments->files.key == NULL)
        return "--key";
    if (node->server_address == NULL)
        return "--server";
    if (arguments->files.server_key == NULL)
        return "--server-key";
    if (node->listen == NULL)
        return "--listen";
    if (arguments->files.trust == NULL)
        return "--trust";
    if ((node->vector.file != NULL) + (node->vector.command != NULL) +
            (arguments->files.feed != NULL) !=
        1)
        return "--data, --command or --feed (one of them)";
    return NULL;
}

int node_options_parse(int argc, char **argv, struct node *node,
                       struct node_arguments *arguments)
{
    struct option_table table = {.count = 0};
    const char *operands[1];
    add_peers(&table, node, arguments);
    add_ledger(&table, arguments);
    add_vector(&table, node, arguments);
    add_others(&table, node, arguments);
    int result = config_parse(&usage, table.rows, &arguments->config, argc,
                              argv, operands);
    if (result == OPTIONS_GO && missing(node, arguments) != NULL) {
        fprintf(stderr, "pricer-node: %s is missing; --help explains\n",
                missing(node, arguments));
        return 2;
    }
    return result;
}
