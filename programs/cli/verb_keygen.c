/*
 * pricer keygen: a key pair for a node or the server.
 */
#include "transport/keys.h"
#include "common/options.h"
#include "common/program.h"
#include "verbs.h"

static const struct usage usage = {
    "keygen", "FILE",
    "Make a key pair: the secret goes to FILE, which only its owner may read,\n"
    "the public key to FILE.pub. Prints the public key. Nothing is "
    "overwritten.",
    "pricer keygen node3.key"};

int verb_keygen(int argc, char **argv)
{
    bool as_json = false;
    const char *after = NULL;
    const struct option options[] = {
        {"after", OPTION_TEXT, &after, "OLD",
         "the secret file of the key that this one follows, which signs it"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    struct pricer_fault fault = {""};
    struct key_pair pair = {0};
    enum pricer_status status =
        after != NULL ? keys_follow(operands[0], after, &pair, &fault)
                      : keys_make(operands[0], &pair, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    if (as_json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_text(&json, "file", operands[0]);
        json_text(&json, "public", pair.public_key);
        json_close(&json, '}');
    } else {
        puts(pair.public_key);
    }
    keys_wipe(&pair);
    return 0;
}
