"""How often the self-test calls a router slower that is not, and how soon one that is.

Simulates nights of routers of many kinds and hands their results to routerbench's own decision, which
may measure a slow night once more, as the self-test does. Prints, for each kind, in how many router-years of
365 nights something was reported, and after how many nights a loss that stays is: the median, and the
share by the second night.

    python3 tests/bench/nights.py [--years 10000] [--seed 1]
"""

import argparse
import math
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
import routerbench as rb  # noqa: E402

LOSSES = (0.07, 0.10, 0.20, 0.50)
NEVER = 61


def steady(spread):
    """Each night its own, with this standard deviation (of the logarithm)."""
    def nights(chance):
        while True:
            rate = math.exp(chance.gauss(0, spread))
            yield lambda rate=rate: rate
    return nights


def tailed(spread):
    """Student's t with three degrees of freedom: a night now and then is far off."""
    def nights(chance):
        while True:
            wide = math.sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3)
            rate = math.exp(max(spread / math.sqrt(3) * chance.gauss(0, 1) / wide, -3))
            yield lambda rate=rate: rate
    return nights


def exceptions(share, whole_night):
    """A share of all measurements, or of nights with all that is measured in them, is 10 to 60 % slower, unseen by the agent."""
    def nights(chance):
        while True:
            bad, depth = chance.random() < share, chance.uniform(0.4, 0.9)

            def measure(bad=bad, depth=depth):
                slow = bad if whole_night else chance.random() < share
                return math.exp(chance.gauss(0, 0.01)) * (depth if slow else 1)
            yield measure
    return nights


def two_speeds(gap):
    """A machine that comes up at one of two speeds."""
    def nights(chance):
        while True:
            speed = 1 - gap if chance.random() < 0.5 else 1
            yield lambda speed=speed: speed * math.exp(chance.gauss(0, 0.005))
    return nights


def seasons(spread):
    """Two per cent up and down over the year."""
    def nights(chance):
        day = chance.uniform(0, 365)
        while True:
            day += 1
            rate = math.exp(0.02 * math.sin(2 * math.pi * day / 365) + chance.gauss(0, spread))
            yield lambda rate=rate: rate
    return nights


def lasting(spread):
    """Noise that stays for some nights: each has 0.7 of the one before."""
    def nights(chance):
        state = chance.gauss(0, spread)
        while True:
            state = 0.7 * state + chance.gauss(0, spread * math.sqrt(1 - 0.49))
            yield lambda rate=math.exp(state): rate
    return nights


KINDS = {
    'noise 0.3 %': steady(0.003), 'noise 1 %': steady(0.01), 'noise 3 %': steady(0.03), 'noise 6 %': steady(0.06), 'noise 10 %': steady(0.10),
    'heavy tails 1 %': tailed(0.01), 'heavy tails 3 %': tailed(0.03), 'two speeds, 15 % apart': two_speeds(0.15), 'seasons, 1 %': seasons(0.01),
    'lasting noise 1 %': lasting(0.01), 'lasting noise 3 %': lasting(0.03), 'lasting noise 6 %': lasting(0.06),
    '5 % of runs slow': exceptions(0.05, False), '15 % of runs slow': exceptions(0.15, False),
    '1 % of nights slow': exceptions(0.01, True), '5 % of nights slow': exceptions(0.05, True), '15 % of nights slow': exceptions(0.15, True),
}


def night(known, measure):
    """One night's self-test: what looks slow is measured once more."""
    rate = measure()
    if rb.looks_slow(known, rate):
        rate = max(rate, measure())
    return rb.after_night(known, rate)


def false_alarm(kind, chance, nights=365):
    """Whether a healthy router is reported within a year."""
    known = rb.Nights()
    for _, measure in zip(range(nights), kind(chance)):
        known = night(known, measure)
        if known.reported:
            return True
    return False


def nights_to_alarm(kind, chance, loss):
    """Nights until a loss is reported that begins after BASELINE_NIGHTS good ones; NEVER if it takes over sixty."""
    known = rb.Nights()
    source = kind(chance)
    for _, measure in zip(range(rb.BASELINE_NIGHTS), source):
        known = night(known, measure)
    known = known._replace(reported=None)
    for count, measure in zip(range(1, NEVER), source):
        known = night(known, lambda: measure() * (1 - loss))
        if known.reported:
            return count
    return NEVER


def row(name, kind, chance, years):
    """What the table says of one kind of router."""
    alarms = sum(false_alarm(kind, chance) for _ in range(years))
    cells = ['%-24s' % name, '%6d of %d' % (alarms, years)]
    for loss in LOSSES:
        waits = sorted(nights_to_alarm(kind, chance, loss) for _ in range(min(years, 200)))
        middle = waits[len(waits) // 2]
        cells.append('%5s %5.1f %%' % ('-' if middle == NEVER else middle, 100 * sum(wait <= 2 for wait in waits) / len(waits)))
    return '   '.join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--years', type=int, default=10000, help='router-years of all kinds together')
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    print('%-24s   %-14s   %s' % ('router', 'false alarms', '   '.join('lost %2.0f %%     ' % (100 * loss) for loss in LOSSES)))
    print('%-24s   %-14s   %s' % ('', 'router-years', '   '.join('nights by 2nd' for _ in LOSSES)))
    for name, kind in KINDS.items():
        print(row(name, kind, chance, -(-arguments.years // len(KINDS))), flush=True)


if __name__ == '__main__':
    main()
