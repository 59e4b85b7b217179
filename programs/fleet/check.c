/*
 * From the files, the address and the limits that both daemons need to lines that
 * say what is wrong with them, and the cure.
 */
#include "check.h"
#include "ledger_release.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    DISK = 64 << 20,        /* bytes that a file should find free */
    YEAR_2020 = 1577836800, /* a clock before that was never set */
    SPARE = 48 /* descriptors for files, handshakes and the status page */
};

void check_begin(struct findings *found, bool as_json)
{
    *found = (struct findings){.json = {.out = stdout}, .as_json = as_json};
    if (as_json) {
        json_open(&found->json, NULL, '{');
        json_open(&found->json, "checks", '[');
    }
}

void check_tell(struct findings *found, enum finding level, const char *what,
                const char *format, ...)
{
    static const char *const levels[] = {"good", "note", "BAD"};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    found->bad += level == FOUND_BAD;
    if (!found->as_json) {
        printf("%-4s  %-11s  %s\n", levels[level], what, text);
        fflush(stdout);
        return;
    }
    json_open(&found->json, NULL, '{');
    json_text(&found->json, "what", what);
    json_flag(&found->json, "good", level != FOUND_BAD);
    json_text(&found->json, "text", text);
    json_close(&found->json, '}');
}

int check_end(struct findings *found)
{
    if (found->as_json) {
        json_close(&found->json, ']');
        json_flag(&found->json, "good", found->bad == 0);
        json_close(&found->json, '}');
    }
    return found->bad == 0 ? 0 : 1;
}

bool check_key(struct findings *found, const char *path, struct key_pair *pair)
{
    struct pricer_fault fault = {""};
    bool good = keys_read(path, pair, &fault) == PRICER_OK;
    if (good)
        check_tell(found, FOUND_GOOD, "key", "%s: %s", path, pair->public_key);
    else if (access(path, F_OK) != 0)
        check_tell(found, FOUND_BAD, "key",
                   "%s; 'pricer keygen %s' makes one, 'pricer enrol' makes it "
                   "known",
                   fault.text, path);
    else
        check_tell(found, FOUND_BAD, "key",
                   "%s; it must be this user's, mode 0600, as 'pricer keygen' "
                   "made it",
                   fault.text);
    return good;
}

double check_disk(struct findings *found, const char *file, const char *what)
{
    char copy[PATH_MAX];
    struct statvfs about;
    if (realpath(file, copy) == NULL) /* it is not there yet */
        snprintf(copy, sizeof copy, "%s", file);
    const char *folder = dirname(copy);
    if (access(folder, W_OK | X_OK) != 0 || statvfs(folder, &about) != 0) {
        check_tell(found, FOUND_BAD, "disk", "%s: %s; %s is written there",
                   folder, strerror(errno), what);
        return -1;
    }
    double room = (double)about.f_bavail * (double)about.f_frsize;
    if (room < DISK)
        check_tell(found, FOUND_BAD, "disk",
                   "%s has %.0f MiB left for %s; no room means no rounds: free "
                   "some",
                   folder, room / (1 << 20), what);
    else
        check_tell(found, FOUND_GOOD, "disk", "%s has %.0f MiB for %s", folder,
                   room / (1 << 20), what);
    return room;
}

void check_clock(struct findings *found, const char *key)
{
    struct stat about;
    time_t now = time(NULL);
    bool known = stat(key, &about) == 0;
    if (now < YEAR_2020 || (known && about.st_mtime > now + 60))
        check_tell(found, FOUND_BAD, "clock",
                   "it is before %s: 'timedatectl set-ntp true' sets it, or "
                   "the log is worth nothing",
                   now < YEAR_2020 ? "2020" : "the key was made");
    else
        check_tell(found, FOUND_GOOD, "clock", "%.24s", ctime(&now));
}

void check_listening(struct findings *found, const char *address,
                     enum pricer_status status,
                     const struct pricer_fault *fault)
{
    if (status == PRICER_OK)
        check_tell(found, FOUND_GOOD, "listen", "%s", address);
    else
        check_tell(found, FOUND_BAD, "listen", "%s; %s%s", fault->text,
                   daemon_listen_cure,
                   status == PRICER_BUSY
                       ? "; until then it waits, and is in no round"
                       : "");
}

void check_descriptors(struct findings *found, int64_t connections)
{
    struct rlimit files;
    int64_t need = connections + SPARE;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    if (files.rlim_cur < (rlim_t)need)
        check_tell(found, FOUND_BAD, "descriptors",
                   "%lld may be open, and %lld connections and the files take "
                   "up to %lld: LimitNOFILE= in the unit, 'ulimit -Hn' in a "
                   "shell",
                   (long long)files.rlim_cur, (long long)connections,
                   (long long)need);
    else
        check_tell(found, FOUND_GOOD, "descriptors",
                   "%lld may be open, for %lld connections",
                   (long long)files.rlim_cur, (long long)connections);
}

void check_releases(struct findings *found, struct ledger *ledger,
                    const struct ledger_terms *terms)
{
    struct pricer_fault fault = {""};
    struct ledger_account account;
    int64_t left = 0;
    if (ledger_account(ledger, &account, &fault) != PRICER_OK)
        check_tell(found, FOUND_BAD, "ledger", "%s", fault.text);
    else if (account.entries == 0)
        check_tell(found, FOUND_GOOD, "releases", "none so far");
    else
        check_tell(found, FOUND_GOOD, "releases",
                   "%lld of %lld rounds are made, which keep eps = %g, delta = "
                   "%g together",
                   (long long)account.released, (long long)account.rounds,
                   account.eps, account.delta);
    if (terms == NULL)
        return;
    if (ledger_release_left(ledger, terms, &left, &fault) == PRICER_OK)
        check_tell(found, FOUND_GOOD, "budgets",
                   "the plan fits, for %lld rounds more", (long long)left);
    else
        check_tell(found, FOUND_BAD, "budgets",
                   "nothing will be released: %s; the row 'everyone' of the "
                   "trust file is the cure, or another plan",
                   fault.text);
}
