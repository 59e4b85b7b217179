/*
 * How the programs speak: failures and notes on stderr, JSON on stdout.
 */
#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Line by line on stderr: the program's name, a word, the message. */
static void speak(const char *kind, const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "pricer: %s", kind);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int program_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    speak("", format, arguments);
    va_end(arguments);
    return 1;
}

void program_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    speak("warning: ", format, arguments);
    va_end(arguments);
}

int program_fault(enum pricer_status status, const struct pricer_fault *fault)
{
    bool known = fault != NULL && fault->text[0] != '\0';
    return program_fail("%s", known ? fault->text : pricer_status_text(status));
}

int program_close(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return program_fail("cannot write the result: %s", strerror(errno));
    return status;
}

int program_stored(const char *what, int64_t number)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    int reason = errno;
    __fpurge(stdout); /* so that it is said once */
    clearerr(stdout);
    return program_fail("%s %lld is stored in the study, but cannot be "
                        "printed: %s",
                        what, (long long)number, strerror(reason));
}

void program_words(const char *head, const char *text)
{
    size_t column = strlen(head);
    fputs(head, stdout);
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        bool fits = column + 1 + word <= 90;
        printf("%s%.*s", fits ? " " : "\n  ", (int)word, text);
        column = fits ? column + 1 + word : 2 + word;
        text += word + strspn(text + word, " ");
    }
    puts(".");
}

int64_t program_date(void)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    char *end;
    long long date = given != NULL ? strtoll(given, &end, 10) : 0;
    if (given != NULL && end != given && *end == '\0' && date > 0)
        return date;
    return (int64_t)time(NULL);
}

double program_seconds(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

/* What comes before a value: a comma, a line of its own, its key. */
static void json_lead(struct json *json, const char *key)
{
    if (json->depth > 0) {
        fputs(json->first[json->depth] ? "\n" : ",\n", json->out);
        fprintf(json->out, "%*s", 2 * json->depth, "");
        json->first[json->depth] = false;
    }
    if (key != NULL) {
        json_string(json->out, key);
        fputs(": ", json->out);
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    json_lead(json, key);
    fputc(bracket, json->out);
    json->first[++json->depth] = true;
}

void json_close(struct json *json, char bracket)
{
    bool empty = json->first[json->depth--];
    if (!empty)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void json_number(struct json *json, const char *key, double value)
{
    json_lead(json, key);
    if (isnan(value))
        fputs("null", json->out);
    else if (isinf(value))
        fputs(value > 0 ? "\"inf\"" : "\"-inf\"", json->out);
    else
        fprintf(json->out, "%.17g", value);
}

void json_count(struct json *json, const char *key, int64_t value)
{
    json_lead(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void json_text(struct json *json, const char *key, const char *value)
{
    json_lead(json, key);
    json_string(json->out, value);
}

void json_flag(struct json *json, const char *key, bool value)
{
    json_lead(json, key);
    fputs(value ? "true" : "false", json->out);
}
