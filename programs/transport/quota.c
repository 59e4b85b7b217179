/*
 * From a rate to yes or no: a bucket that fills with time.
 */
#include "hub.h"

bool quota_take(struct quota *quota, int64_t now, double rate, double most)
{
    if (quota->at == 0)
        quota->left = most;
    else
        quota->left += 1e-3 * (double)(now - quota->at) * rate;
    if (quota->left > most)
        quota->left = most;
    quota->at = now;
    if (quota->left < 1)
        return false;
    quota->left--;
    return true;
}
