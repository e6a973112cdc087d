//! Does a difference between two runs mean anything?

/// Number of resamples of both tests.
const RESAMPLES: u32 = 10_000;

/// Two-sided p-value of the paired randomisation test (Fisher; Smucker, Allan and Carterette 2007): the share of random
/// sign flips of the per-question differences whose mean is at least as far from zero as the observed one. Add-one
/// smoothed, so never 0.
pub(crate) fn randomisation_p_value(baseline: &[f64], candidate: &[f64]) -> f64 {
    let differences = differences(baseline, candidate);
    let observed = differences.iter().sum::<f64>().abs();
    let mut random = SplitMix64::new(0x6a09_e667_f3bc_c908);
    let extreme = (0..RESAMPLES)
        .filter(|_| {
            let flipped: f64 = differences.iter().map(|d| if random.next() & 1 == 0 { *d } else { -d }).sum();
            flipped.abs() >= observed - 1e-12
        })
        .count();
    (extreme as f64 + 1.0) / (f64::from(RESAMPLES) + 1.0)
}

/// 95 % bootstrap confidence interval of a mean (percentile method, Efron 1979).
pub(crate) fn bootstrap_interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut random = SplitMix64::new(0xbb67_ae85_84ca_a73b);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    (means[means.len() * 25 / 1000], means[means.len() * 975 / 1000])
}

fn differences(baseline: &[f64], candidate: &[f64]) -> Vec<f64> {
    baseline.iter().zip(candidate).map(|(before, after)| after - before).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014), seeded with a constant: the same data gives the same report.
struct SplitMix64(u64);

impl SplitMix64 {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_are_not_different() {
        let run = [0.1, 0.5, 0.9];
        assert!(randomisation_p_value(&run, &run) > 0.99);
    }

    // Ten differences of one sign: exactly 2 of 2^10 sign patterns are as extreme, p = 0.00195.
    #[test]
    fn ten_equal_gains_have_the_exact_p_value() {
        let p = randomisation_p_value(&[0.0; 10], &[0.1; 10]);
        assert!((p - 2.0 / 1024.0).abs() < 0.0015, "{p}");
    }

    // Standard error of 100 coin tosses is 0.05, so the interval is 0.5 +- 0.098.
    #[test]
    fn interval_of_a_fair_coin() {
        let tosses: Vec<f64> = (0..100).map(|toss| f64::from(toss % 2)).collect();
        let (low, high) = bootstrap_interval(&tosses);
        assert!((low - 0.402).abs() < 0.02 && (high - 0.598).abs() < 0.02, "{low} {high}");
    }
}
