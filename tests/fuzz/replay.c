/*
 * Hand every file of the given folders to a fuzzer, without libFuzzer: what was
 * once found stays found, on machines without clang too.
 */
#include "fuzz.h"

#include <dirent.h>

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    /* Exactly as large as the file, so that a sanitizer sees each overrun. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    int failed = data == NULL || size < 0 ||
                 fread(data, 1, (size_t)size, file) != (size_t)size;
    fclose(file);
    if (!failed)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    int files = 0, failed = 0;
    for (int k = 1; k < argc; k++) {
        DIR *folder = opendir(argv[k]);
        if (folder == NULL) {
            perror(argv[k]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[k], entry->d_name);
            failed += replay_file(path);
            files++;
        }
        closedir(folder);
    }
    printf("%d files replayed, %d not readable\n", files, failed);
    if (fuzz_asked > 0 && fuzz_accepted == 0) {
        puts("no file was accepted: the corpus is out of date");
        return 1;
    }
    return failed != 0 || files == 0;
}
