"""Arithmetic, and the plans of the measuring section that are nothing but arithmetic."""

import itertools
import random

import pytest

import routerbench as rb
from routerbench import Cost, Sample

FAST_PC = Cost(0.006, 1.68e-6, 0.676e-9)  # AES-256-GCM on one x86
LENGTHS = ((100, 3000, 6000), (1768, 3168, 6168), (1768, 2668, 20168))


def runs_of(cost, lengths):
    """What runs of these lengths take if the model is exact."""
    return [Sample(longest, rb.run_seconds(cost, longest)) for longest in lengths]


def up_to_25(mtu):
    """Packets of OpenVPN up to 2.5."""
    return mtu


def from_26(mtu):
    """Packets of OpenVPN 2.6 and later."""
    return max(mtu, 1600) + 168


class TestTotalBytes:
    @pytest.mark.parametrize('longest, expected', [(1, 1), (2, 3), (100, 5050), (20000, 200010000)])
    def test_sum_of_all_lengths(self, longest, expected):
        assert rb.total_bytes(longest) == expected == sum(range(longest + 1))


class TestWorkMbit:
    @pytest.mark.parametrize('longest, expected', [
        (20000, 3200.16), (20168, 3254.147136), (1, 16e-6), (65535, 8 * 65535 * 65536 / 1e6)])
    def test_counts_encryption_and_decryption(self, longest, expected):
        assert rb.work_mbit(longest) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize('longest, seconds, mbit_s', [
        (20000, 47.46, '67.43'), (20168, 47.46, '68.57'), (20000, 19.924, '160.62'), (20000, 24.0, '133.34'),
        (20000, 58.2, '54.99')])
    def test_examples_of_the_guide_and_of_reports(self, longest, seconds, mbit_s):
        assert '%.2f' % (rb.work_mbit(longest) / seconds) == mbit_s


class TestMedian:
    @pytest.mark.parametrize('values, expected', [
        ([47.46, 47.60, 47.51], 47.51),
        ([16.6, 30.0, 90.0, 134.0, 85.0], 85.0),
        ([3.0], 3.0), ([4.0, 1.0], 2.5), ([4.0, 1.0, 3.0, 2.0], 2.5), ((1.0, 1.0, 9.0), 1.0)])
    def test_middle(self, values, expected):
        assert rb.median(values) == expected

    def test_leaves_its_argument_alone(self):
        values = [3.0, 1.0, 2.0]
        rb.median(values)
        assert values == [3.0, 1.0, 2.0]


class TestRelativeSpread:
    def test_three_good_runs(self):
        assert '%.1f %%' % (100 * rb.relative_spread([47.46, 47.60, 47.51])) == '0.3 %'

    def test_a_machine_that_throttles_is_unstable(self):
        spread = rb.relative_spread([16.6, 30.0, 90.0, 134.0, 85.0])
        assert spread == pytest.approx((134 - 16.6) / 85)
        assert spread > rb.UNSTABLE_SPREAD

    def test_one_run_has_none(self):
        assert rb.relative_spread([47.46]) == 0


class TestSolve:
    @pytest.mark.parametrize('rows, expected', [
        ([[2.0, 6.0]], [3.0]),
        ([[1.0, 1.0, 3.0], [1.0, -1.0, 1.0]], [2.0, 1.0]),
        ([[0.0, 1.0, 5.0], [1.0, 0.0, 7.0]], [7.0, 5.0]),  # the first pivot is zero
        ([[0.0, 2.0, 1.0, 7.0], [1.0, 1.0, 1.0, 6.0], [4.0, 2.0, 1.0, 11.0]], [1.0, 2.0, 3.0])])
    def test_unknowns(self, rows, expected):
        assert rb.solve(rows) == pytest.approx(expected)

    @pytest.mark.parametrize('rows', [
        [[0.0, 1.0]], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], [[1.0, 2.0, 3.0], [2.0, 4.0, 7.0]]])
    def test_undetermined(self, rows):
        assert rb.solve(rows) is None

    def test_leaves_its_argument_alone(self):
        rows = [[2.0, 0.0, 2.0], [0.0, 4.0, 8.0]]
        assert rb.solve(rows) == [1.0, 2.0]
        assert rows == [[2.0, 0.0, 2.0], [0.0, 4.0, 8.0]]


class TestLeastSquares:
    def test_exact(self):
        table = [[1.0, x] for x in (1.0, 2.0, 5.0)]
        assert rb.least_squares(table, [5.0, 8.0, 17.0]) == pytest.approx([2.0, 3.0])

    def test_relative_errors_count_alike(self):
        # 10 % above on a small and 10 % below on a large one: the middle, not the large one's side
        assert rb.least_squares([[1.0], [100.0]], [1.1, 90.0]) == pytest.approx([0.99 * 2 / (0.9 + 1.1)], rel=0.02)

    def test_columns_of_very_different_size(self):
        table = [[1.0, n, n * n / 2.0] for n in (1768.0, 3168.0, 20168.0)]
        truth = [0.01, 2e-6, 7e-10]
        seen = [sum(a * b for a, b in zip(row, truth)) for row in table]
        assert rb.least_squares(table, seen) == pytest.approx(truth, rel=1e-6)

    def test_undetermined(self):
        assert rb.least_squares([[1.0, 2.0], [1.0, 2.0]], [3.0, 3.0]) is None


class TestFitCost:
    @pytest.mark.parametrize('lengths', LENGTHS)
    @pytest.mark.parametrize('cost', [
        FAST_PC,
        Cost(0.0, 1.68e-6, 0.676e-9),
        Cost(0.05, 0.0, 2e-9),
        Cost(0.8, 9e-5, 1.9e-7),  # a slow MIPS
        Cost(1e-3, 1e-7, 1e-10)])
    def test_recovers_what_the_runs_were_made_of(self, cost, lengths):
        found = rb.fit_cost(runs_of(cost, lengths))
        assert tuple(found) == pytest.approx(tuple(cost), rel=1e-5, abs=1e-13)

    def test_recovers_the_forecast_for_real_packets(self):
        found = rb.fit_cost(runs_of(FAST_PC, (1768, 3168, 6168)))
        assert '%.1f' % (rb.packet_mbit_s(found, 1420) / 1e3) == '8.6'

    def test_random_costs(self):
        chance = random.Random(4)
        for _ in range(200):
            cost = Cost(10 ** chance.uniform(-3, 0), 10 ** chance.uniform(-7, -4), 10 ** chance.uniform(-10, -6))
            samples = runs_of(cost, chance.choice(LENGTHS)) * chance.randint(1, 4)
            chance.shuffle(samples)
            found = rb.fit_cost(samples)
            assert rb.run_seconds(found, 20168) == pytest.approx(rb.run_seconds(cost, 20168), rel=1e-4)

    @pytest.mark.parametrize('seconds', [
        (1.0, 2.0, 20.0),   # start-up would come out below zero
        (1.0, 1.1, 40.0)])  # ... or the cost of a packet
    def test_no_part_is_below_zero(self, seconds):
        samples = [Sample(n, s) for n, s in zip((100, 3000, 6000), seconds)]
        found = rb.fit_cost(samples)
        assert found is not None and min(found) >= 0
        assert max(found) > 0

    @pytest.mark.parametrize('seconds', [(1.0, 1.6, 1.7), (3.0, 2.0, 1.0), (1.0, 1.0, 1.0)])
    def test_without_a_cost_per_byte_there_is_no_model(self, seconds):
        assert rb.fit_cost([Sample(n, s) for n, s in zip((100, 3000, 6000), seconds)]) is None

    def test_noise_never_gives_less_than_zero(self):
        chance = random.Random(5)
        for _ in range(200):
            cost = Cost(chance.choice((0.0, 0.01)), 10 ** chance.uniform(-7, -4), 10 ** chance.uniform(-10, -7))
            samples = [s._replace(seconds=s.seconds * chance.uniform(0.8, 1.25))
                       for s in runs_of(cost, (1768, 3168, 6168) * 3)]
            found = rb.fit_cost(samples)
            assert found is None or (min(found) >= 0 and found.byte > 0)

    @pytest.mark.parametrize('lengths', [
        (), (1768,), (1768, 1768, 1768), (1768, 3168), (100, 100, 3000, 3000), (1768, 3168, 1768, 3168)])
    @pytest.mark.parametrize('scale', [0.001, 0.01, 1.0, 100.0])
    def test_fewer_than_three_lengths_determine_nothing(self, lengths, scale):
        cost = Cost(*(part * scale for part in FAST_PC))
        assert not lengths or rb.fit_cost(runs_of(cost, lengths)) is None


class TestTypicalCost:
    LENGTHS = (1768, 4168, 8168)

    def test_rounds_with_nothing_wrong(self):
        found = rb.typical_cost(runs_of(FAST_PC, self.LENGTHS * 4 + (20168,)))
        assert tuple(found) == pytest.approx(tuple(FAST_PC), rel=1e-5)

    def test_a_disturbance_that_comes_and_goes(self):
        """A neighbour that slows some rounds by half, and 1 % of noise on top."""
        chance = random.Random(3)
        rates = []
        for _ in range(50):
            samples = []
            for _round in range(12):
                slowed = chance.choice((1, 1, 1.5))
                samples += [s._replace(seconds=s.seconds * slowed * chance.gauss(1, 0.003)) for s in runs_of(FAST_PC, self.LENGTHS)]
            rates.append(rb.packet_mbit_s(rb.typical_cost(samples), 1420))
        truth = rb.packet_mbit_s(FAST_PC, 1420)
        assert sum(abs(rate / truth - 1) < 0.15 for rate in rates) >= 45

    def test_what_is_lost_in_noise_is_not_given(self):
        lost = [Sample(1768, 0.023), Sample(4168, 0.0235), Sample(8168, 0.026)]
        assert rb.typical_cost(lost) is None
        assert rb.typical_cost([Sample(1768, 1.0), Sample(4168, 1.0), Sample(8168, 0.9)]) is None
        assert rb.typical_cost([]) is None and rb.typical_cost(runs_of(FAST_PC, (1768, 4168))) is None


class TestRunSeconds:
    @pytest.mark.parametrize('cost, longest, expected', [
        (Cost(1.0, 0.0, 0.0), 20000, 1.0), (Cost(0.0, 1e-3, 0.0), 20000, 20.0), (Cost(0.0, 0.0, 1e-6), 20000, 200.01),
        (Cost(1.0, 1e-3, 1e-6), 3, 1.003006)])
    def test_sum_of_its_parts(self, cost, longest, expected):
        assert rb.run_seconds(cost, longest) == pytest.approx(expected)


class TestPacketMbitS:
    def test_small_packets_are_slower_than_the_guide_says(self):
        assert rb.packet_mbit_s(FAST_PC, 1420) == pytest.approx(8604, rel=0.001)
        guide = rb.work_mbit(20000) / rb.run_seconds(FAST_PC, 20000)
        assert guide > 1.9 * rb.packet_mbit_s(FAST_PC, 1420)

    def test_start_up_has_no_part_in_it(self):
        assert rb.packet_mbit_s(Cost(9.0, 1e-6, 1e-9), 1420) == rb.packet_mbit_s(Cost(0.0, 1e-6, 1e-9), 1420)

    def test_a_packet_that_costs_nothing_has_no_speed(self):
        assert rb.packet_mbit_s(Cost(1.0, 0.0, 0.0), 1420) is None


class TestRounded:
    @pytest.mark.parametrize('value, digits, expected', [
        (None, 3, None), (67.42857, 3, 67.429), (67.42857, 1, 67.4), (0.0, 3, 0.0), (1.68e-6, 3, 0.0), (-0.5, 0, 0)])
    def test_places(self, value, digits, expected):
        assert rb.rounded(value, digits) == expected

    def test_three_places_unless_told(self):
        assert rb.rounded(2 / 3) == 0.667


class TestFullRuns:
    @pytest.mark.parametrize('seconds, expected', [
        (47.46, 3), (4.01, 3), (4.0, 5), (1.0, 5), (0.9, 6), (0.5, 10), (0.1, 50), (1000.0, 3), (0.0, 5)])
    def test_number(self, seconds, expected):
        assert rb.full_runs(seconds) == expected

    def test_short_runs_add_up_to_five_seconds(self):
        for seconds in (0.1, 0.13, 0.59, 0.99):
            assert rb.full_runs(seconds) * seconds >= rb.FULL_SECONDS

    def test_there_are_never_more_than_fifty(self):
        assert rb.full_runs(0.005) == rb.MOST_RUNS == 50


class TestFullPlan:
    def test_three_runs_of_a_slow_router(self):
        assert rb.full_plan(47.46, 6.0, 1200.0)[:3] == (47.46, 3, 6)

    def test_only_one_where_three_do_not_fit(self):
        assert rb.full_plan(500.0, 60.0, 1200.0) == rb.Plan(500.0, 1, 1, 1, 560.0, 560.0)

    def test_three_where_five_do_not_fit(self):
        assert rb.full_plan(4.0, 0.5, 16.0)[:3] == (4.0, 3, 3)

    def test_every_plan_lies_within_its_share(self):
        chance = random.Random(6)
        for _ in range(3000):
            seconds, share = 10 ** chance.uniform(-3, 4), 10 ** chance.uniform(-2, 5)
            small = seconds * 10 ** chance.uniform(-2, 1)
            plan = rb.full_plan(seconds, small, share)
            assert 1 <= plan.least <= plan.most and not plan.fixed
            assert plan.least in (1, 3) or plan.least == rb.full_runs(seconds)
            assert plan.expected == pytest.approx(plan.least * seconds + plan.rounds * small)
            assert plan.rounds == 1 or small <= seconds
            if plan.most > 1:
                assert plan.expected <= plan.limit <= share * (1 + 1e-9)
                assert plan.limit <= rb.MANY_RUNS_SECONDS or plan.expected > rb.MANY_RUNS_SECONDS


def random_cost(chance):
    """From a PC with AES instructions to a MIPS of 2003; start-up is a small part of a full run."""
    packet, byte = 10 ** chance.uniform(-7, -4), 10 ** chance.uniform(-10, -5.7)
    return Cost(chance.uniform(0, 0.01) * rb.run_seconds(Cost(0.0, packet, byte), 20000), packet, byte)


def plan_seconds(plan, cost, longest):
    """How long a quick plan takes."""
    return sum(rb.run_seconds(cost, longest(mtu)) for mtu in plan.fixed) if plan.fixed else plan.expected


class TestQuickPlan:
    @pytest.mark.parametrize('longest', [up_to_25, from_26])
    def test_an_eighth_of_a_long_test_and_half_of_a_short_one(self, longest):
        chance = random.Random(7)
        kinds = set()
        for _ in range(2000):
            cost = random_cost(chance)
            seconds = rb.run_seconds(cost, longest(20000))
            small = sum(rb.run_seconds(cost, longest(mtu)) for mtu in rb.COST_MTUS)
            full = rb.full_plan(seconds, small, 1e9).expected
            plan = rb.quick_plan(cost, longest, 20000, 1e9)
            kinds.add(bool(plan.fixed))
            assert plan.fixed or 1 <= plan.least <= plan.most <= 2 * plan.least
            assert plan_seconds(plan, cost, longest) <= full / (8 if full > 20 else 2)
        assert kinds == {False, True}

    @pytest.mark.parametrize('longest', [up_to_25, from_26])
    @pytest.mark.parametrize('mtu', [200, 1500, 3000, 20000, 65535])
    def test_never_longer_than_its_share_or_a_single_run(self, longest, mtu):
        chance = random.Random(8)
        for _ in range(500):
            cost = random_cost(chance)._replace(start=chance.choice((0.0, 0.01, 3.0)))
            seconds = rb.run_seconds(cost, longest(mtu))
            small = sum(rb.run_seconds(cost, longest(size)) for size in rb.COST_MTUS)
            share = rb.full_runs(seconds) * seconds * 10 ** chance.uniform(-1, 1)
            plan = rb.quick_plan(cost, longest, mtu, share)
            single = rb.repeats(1, 1, seconds, small).expected
            assert plan_seconds(plan, cost, longest) <= max(share, single) * (1 + 1e-9)

    @pytest.mark.parametrize('longest, mtu', list(itertools.product((up_to_25, from_26), (200, 1500, 3000, 20000, 65535))))
    def test_its_sizes_determine_a_cost(self, longest, mtu):
        chance = random.Random(9)
        for _ in range(200):
            cost = random_cost(chance)
            plan = rb.quick_plan(cost, longest, mtu, 1e9)
            if plan.fixed:
                found = rb.fit_cost(runs_of(cost, [longest(size) for size in plan.fixed]))
                assert found is not None
                assert rb.run_seconds(found, longest(mtu)) == pytest.approx(plan.seconds, rel=1e-4)

    def test_one_size_is_far_from_the_small_ones(self):
        plan = rb.quick_plan(Cost(0.05, 1e-5, 1e-7), up_to_25, 20000, 1e9)
        assert sorted(plan.fixed)[:5] == [rb.SMALLEST_MTU] * 3 + [2500] * 2 and max(plan.fixed) > 5000


class TestNoise:
    def test_single_runs_tell_nothing(self):
        assert rb.noise([Sample(100, 1.0), Sample(3000, 2.0)]) == 0.03
        assert rb.noise([]) == 0.03

    def test_at_least_one_per_cent(self):
        assert rb.noise([Sample(100, 1.0)] * 5) == 0.01

    def test_scatter_of_runs_of_one_length(self):
        samples = [Sample(100, 0.9), Sample(100, 1.0), Sample(100, 1.1), Sample(3000, 5.0)]
        assert rb.noise(samples) == pytest.approx((0.02 / 3) ** 0.5)

    def test_grows_with_the_scatter(self):
        found = [rb.noise([Sample(100, 1.0), Sample(100, 1.0 + off), Sample(100, 1.0 - off)])
                 for off in (0.0, 0.02, 0.05, 0.2)]
        assert found == sorted(found) and found[0] < found[-1]


class TestPredictionError:
    LENGTHS = (100, 2500, 9000, 100, 2500, 100)

    def shaken(self, off):
        """Runs where those of one length lie apart by `off`."""
        signs = (1, 1, 0, -1, -1, 0)
        return [s._replace(seconds=s.seconds * (1 + sign * off))
                for s, sign in zip(runs_of(Cost(0.05, 1e-5, 1e-7), self.LENGTHS), signs)]

    def test_grows_with_the_noise(self):
        found = [rb.prediction_error(self.shaken(off), 20000) for off in (0.0, 0.02, 0.05, 0.1)]
        assert found == sorted(found) and found[-1] > 3 * found[0] > 0

    def test_grows_with_the_distance(self):
        samples = self.shaken(0.02)
        assert rb.prediction_error(samples, 9000) < rb.prediction_error(samples, 20000)

    def test_no_prediction_is_no_certainty(self):
        assert rb.prediction_error([Sample(1768, 1.0)] * 4, 20168) == 100.0

    def test_covers_the_real_error(self):
        chance = random.Random(10)
        cost, hits, rounds = Cost(0.05, 1e-5, 1e-7), 0, 200
        truth = rb.run_seconds(cost, 20000)
        for _ in range(rounds):
            samples = [s._replace(seconds=s.seconds * chance.gauss(1, 0.01)) for s in runs_of(cost, self.LENGTHS)]
            error = 100 * abs(rb.run_seconds(rb.fit_cost(samples), 20000) / truth - 1)
            hits += error <= rb.prediction_error(samples, 20000)
        assert hits >= 0.9 * rounds
