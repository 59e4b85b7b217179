/*
 * One wheel for all timers: a timer stands in the slot of the step in which it
 * is due, so setting and stopping cost nothing, however many there are.
 */
#include "hub.h"

/* The first step that begins when `due` has come. */
static int64_t find_step(int64_t due)
{
    return (due + WHEEL_STEP - 1) / WHEEL_STEP;
}

void wheel_stop(struct timer *timer)
{
    if (timer->link == NULL)
        return;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->link = NULL;
}

void wheel_set(struct wheel *wheel, struct timer *timer, int64_t due)
{
    int64_t step = find_step(due);
    wheel_stop(timer);
    if (step <= wheel->turned)
        step = wheel->turned + 1;
    timer->due = due;
    struct timer **head = &wheel->slots[step % WHEEL_SLOTS];
    timer->next = *head;
    timer->link = head;
    if (timer->next != NULL)
        timer->next->link = &timer->next;
    *head = timer;
}

int64_t wheel_next(const struct wheel *wheel)
{
    for (int64_t k = 1; k <= WHEEL_SLOTS; k++)
        if (wheel->slots[(wheel->turned + k) % WHEEL_SLOTS] != NULL)
            return (wheel->turned + k) * WHEEL_STEP;
    return INT64_MAX;
}

/* A slot also holds timers of later turns; after a long sleep one look at every
 * slot is enough. */
struct timer *wheel_turn(struct wheel *wheel, int64_t now)
{
    int64_t last = now / WHEEL_STEP;
    if (wheel->turned < last - WHEEL_SLOTS)
        wheel->turned = last - WHEEL_SLOTS;
    for (; wheel->turned < last; wheel->turned++) {
        struct timer *timer = wheel->slots[(wheel->turned + 1) % WHEEL_SLOTS];
        while (timer != NULL && timer->due > now)
            timer = timer->next;
        if (timer != NULL) {
            wheel_stop(timer);
            return timer;
        }
    }
    return NULL;
}
