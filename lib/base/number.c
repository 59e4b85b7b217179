/*
 * From text to numbers, the same in every locale and every reader.
 *
 * strtod() alone is too generous for data files: it takes "1.5x", hexadecimal
 * and NaN, and a decimal comma where the user's locale has one.
 */
#include "base.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_infinity(const char *text, double *value)
{
    double sign = *text == '-' ? -1 : 1;
    if (*text == '-' || *text == '+')
        text++;
    if (*text == '.') /* YAML writes .inf */
        text++;
    if (strcasecmp(text, "inf") != 0 && strcasecmp(text, "infinity") != 0)
        return false;
    *value = sign * INFINITY;
    return true;
}

/*
 * Up to 15 digits and a power of ten up to 22 are exact in a double, so one
 * multiplication or division rounds once, as strtod() does: the common short
 * number costs no call. Anything else says no.
 */
static bool parse_short(const char *text, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                   1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15};
    uint64_t digits = 0;
    int count = 0, behind = 0;
    bool point = false, negative = *text == '-';
    for (text += negative; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && count < 15) {
            digits = 10 * digits + (uint64_t)(*text - '0');
            count++;
            behind += point;
        } else {
            return false;
        }
    }
    if (count == 0)
        return false;
    double size = (double)digits / power[behind];
    *value = negative ? -size : size;
    return true;
}

bool pri_parse_number(const char *text, double *value)
{
    if (parse_short(text, value) || is_infinity(text, value))
        return true;
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return false;
    char *end;
    double parsed = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    if (end == text || *end != '\0' || isinf(parsed))
        return false;
    *value = parsed;
    return true;
}

const char *pri_ask_percent(double value)
{
    return value > 1 && value <= 100 ? " (percent? then divide by 100)" : "";
}

bool pri_parse_count(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0)
        return false;
    *value = parsed;
    return true;
}
