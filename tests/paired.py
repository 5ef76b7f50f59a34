"""Two timings of the same thing, in pairs, on a machine that others use as well.

One pair is noise; the median of many is not, and how far they scatter says how far the median can be
trusted. A check made with this fails where there is a difference, and not where the machine is restless;
where it is so restless that nothing could be told, it is skipped."""

import pytest

import routerbench as rb

USELESS = 0.05  # doubt from which on nothing can be told


def doubt(ratios):
    """Twice the standard error of the median, by the middle half of the values."""
    ordered = sorted(ratios)
    quarter = len(ordered) // 4
    middle_half = ordered[-1 - quarter] - ordered[quarter]
    return 2 * 1.25 * middle_half / 1.35 / len(ordered) ** 0.5


def turns(first, second):
    """A function that gives first() / second(), the other way round every other time, so that a slow drift
    strikes both alike."""
    state = [False]

    def ratio():
        state[0] = not state[0]
        if state[0]:
            one = first()
            return one / second()
        other = second()
        return first() / other
    return ratio


def check(ratio, within, pairs, lowest=False):
    """The median of up to three series of ratios, added up, is within `within` of 1 (or, with `lowest`, not
    below 1 by more), but for the doubt that their scatter leaves."""
    ratios, seen = [], []
    while len(seen) < 3 and not (seen and near(*seen[-1], within, lowest)):
        ratios += [ratio() for _ in range(pairs)]
        seen.append((rb.median(ratios), doubt(ratios)))
    print('ratio and doubt:', *('%.4f +- %.4f' % one for one in seen))
    middle, unsure = seen[-1]
    if not near(middle, 0.0, within, lowest) and near(middle, unsure, within, lowest) and unsure > USELESS:
        pytest.skip('this machine is too restless to tell: %.3f +- %.3f' % seen[-1])
    assert near(middle, unsure, within, lowest), seen


def near(middle, unsure, within, lowest):
    """Whether a median is where it should be, within its doubt."""
    return middle > 1 - within - unsure and (lowest or middle < 1 + within + unsure)
