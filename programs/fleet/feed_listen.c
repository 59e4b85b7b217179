/*
 * From "unix:PATH" to a socket that only its owner and root can talk to: by the
 * mode of the file, and by what the kernel says about who has connected.
 */
#include "feed_listen.h"
#include "common/daemon.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAITING = 4 }; /* connections that the kernel keeps for us */

static enum pricer_status parse(const char *text, struct sockaddr_un *address,
                                struct pricer_fault *fault)
{
    static const char scheme[] = "unix:";
    size_t skip = sizeof scheme - 1;
    if (strncmp(text, scheme, skip) != 0 || text[skip] == '\0')
        return daemon_fault(fault, PRICER_VALUE,
                            "%.200s: a feed is unix:PATH, the path of a socket",
                            text);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(text + skip) >= sizeof address->sun_path)
        return daemon_fault(
            fault, PRICER_VALUE,
            "%.200s: the path of a socket has at most %zu bytes", text,
            sizeof address->sun_path - 1);
    snprintf(address->sun_path, sizeof address->sun_path, "%s", text + skip);
    return PRICER_OK;
}

/* Whether there is a socket that nobody listens at; everything else that is
 * there already is an error. */
static enum pricer_status look(const struct sockaddr_un *address, bool *stale,
                               struct pricer_fault *fault)
{
    struct stat about;
    const char *path = address->sun_path;
    *stale = false;
    if (lstat(path, &about) != 0)
        return errno == ENOENT ? PRICER_OK
                               : daemon_fault(fault, PRICER_FILE, "%s: %s",
                                              path, strerror(errno));
    if (!S_ISSOCK(about.st_mode))
        return daemon_fault(fault, PRICER_FILE,
                            "%s is there and is not a socket", path);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0)
        return daemon_fault(fault, PRICER_FILE, "%s: %s", path,
                            strerror(errno));
    *stale =
        connect(file, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED;
    close(file);
    if (!*stale)
        return daemon_fault(fault, PRICER_BUSY, "another program listens at %s",
                            path);
    return PRICER_OK;
}

enum pricer_status feed_listen_check(const char *address,
                                     struct pricer_fault *fault)
{
    struct sockaddr_un found;
    bool stale;
    enum pricer_status status = parse(address, &found, fault);
    return status == PRICER_OK ? look(&found, &stale, fault) : status;
}

enum pricer_status feed_listen(const char *address, struct feed_place *place,
                               int *file, struct pricer_fault *fault)
{
    bool stale = false;
    struct stat about = {0};
    enum pricer_status status = parse(address, &place->address, fault);
    if (status == PRICER_OK)
        status = look(&place->address, &stale, fault);
    if (status != PRICER_OK)
        return status;
    const char *path = place->address.sun_path;
    if (stale)
        unlink(path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* the file is 0600 from its first moment on */
    mode_t before = umask(0177);
    bool bound = made >= 0 && bind(made, (struct sockaddr *)&place->address,
                                   sizeof place->address) == 0;
    int error = errno;
    umask(before);
    if (!bound || listen(made, WAITING) != 0 || lstat(path, &about) != 0) {
        error = bound ? errno : error;
        if (made >= 0)
            close(made);
        if (bound)
            unlink(path);
        return daemon_fault(fault, PRICER_FILE, "cannot listen at %s: %s", path,
                            strerror(error));
    }
    place->device = about.st_dev;
    place->inode = about.st_ino;
    *file = made;
    return PRICER_OK;
}

void feed_unlisten(const struct feed_place *place)
{
    struct stat about;
    if (lstat(place->address.sun_path, &about) == 0 &&
        about.st_dev == place->device && about.st_ino == place->inode)
        unlink(place->address.sun_path);
}

int feed_accept(int listener, pid_t *who, bool *stranger)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    *stranger = false;
    int file = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (file < 0)
        return -1;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        *stranger = true;
        close(file);
        return -1;
    }
    *who = peer.pid;
    return file;
}
