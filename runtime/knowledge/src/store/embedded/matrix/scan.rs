//! Exact search: the dot product with every allowed row.

use super::MatrixView;
use crate::store::embedded::catalog::DocumentKeys;
use crate::store::embedded::top::{Candidate, Top};

/// Sums kept apart so that the compiler uses the machine's vector registers; the order of additions is fixed, so that
/// equal vectors give equal scores everywhere.
const LANES: usize = 16;

/// Floats from which on a scan is worth a second thread: about 2 ms of work.
const PARALLEL_FLOATS: usize = 8_000_000;

/// Dot product of two vectors of equal length.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (left_blocks, right_blocks) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest: f32 = left_blocks.remainder().iter().zip(right_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left_blocks.zip(right_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The best living rows of the allowed documents.
pub(super) fn search(view: &MatrixView, query: &[f32], allowed: Option<&DocumentKeys>, limit: usize) -> Vec<Candidate> {
    let rows = view.rows.len();
    if limit == 0 || rows == 0 {
        return Vec::new();
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let top = if threads > 1 && rows * view.dimensions >= PARALLEL_FLOATS {
        let share = rows.div_ceil(threads);
        let part = |thread: usize| scan(view, query, allowed, limit, thread * share..((thread + 1) * share).min(rows));
        let part = &part;
        std::thread::scope(|scope| {
            let handles: Vec<_> = (1..threads).map(|thread| scope.spawn(move || part(thread))).collect();
            let mut top = part(0);
            for handle in handles {
                let found = handle.join().expect("a scan does not panic");
                found.into_sorted().into_iter().for_each(|candidate| top.push(candidate));
            }
            top
        })
    } else {
        scan(view, query, allowed, limit, 0..rows)
    };
    top.into_sorted()
}

fn scan(
    view: &MatrixView,
    query: &[f32],
    allowed: Option<&DocumentKeys>,
    limit: usize,
    rows: std::ops::Range<usize>,
) -> Top {
    let mut top = Top::new(limit);
    for index in rows {
        let row = &view.rows[index];
        if view.dead.contains(index as u32) || allowed.is_some_and(|keys| !keys.contains(row.document)) {
            continue;
        }
        let score = dot(query, view.vector(index));
        if score >= top.threshold() {
            top.push(Candidate { score, chunk: row.chunk, document: row.document, parent: row.parent });
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::dot;

    #[test]
    fn dot_products_cover_the_remainder() {
        for length in [0usize, 1, 15, 16, 17, 48, 50] {
            let left: Vec<f32> = (0..length).map(|value| value as f32).collect();
            let right = vec![2f32; length];
            let expected = (length * length.saturating_sub(1)) as f32;
            assert_eq!(dot(&left, &right), expected, "length {length}");
        }
    }
}
