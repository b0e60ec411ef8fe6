//! Random numbers: Lehmer's multiplicative generator modulo 2^128 (D. H. Lehmer 1951; the multiplier from
//! L'Ecuyer 1999), of which the upper half of each state is used.

const MULTIPLIER: u128 = 0x12e1_5e35_b500_f16e_2e71_4eb2_b379_16a5;

pub(super) struct Chances {
    state: u128,
    /// Marsaglia's polar method generates two.
    other_normal: Option<f64>,
}

impl Chances {
    pub(super) fn new(seed: u64) -> Self {
        let mut chances = Self {
            // Odd, and not close to 0.
            state: (u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15) | 1,
            other_normal: None,
        };
        for _ in 0..16 {
            chances.uniform();
        }
        chances
    }

    /// Above 0 and below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(super) fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER);
        let upper = (self.state >> 75) as u64;
        (upper as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// From 0 to `count` - 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the count")]
    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.uniform() * super::float(count)) as usize
    }

    /// Exponential with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal.
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(normal) = self.other_normal.take() {
            return normal;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.other_normal = Some(y * factor);
                return x * factor;
            }
        }
    }
}
