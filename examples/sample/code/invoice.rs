//! Invoices: amounts in hundredths of a crown, so that nothing is lost by rounding.

pub struct Line {
    pub item: String,
    pub quantity: u32,
    pub price_hundredths: u64,
}

pub struct Invoice {
    pub number: u32,
    pub lines: Vec<Line>,
    pub weeks_late: u64,
}

const LATE_FEE_PER_WEEK: u64 = 200;

impl Invoice {
    /// The sum of all lines, without the fee for paying late.
    pub fn subtotal(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.quantity) * line.price_hundredths).sum()
    }

    /// What is to be paid: late payment costs two crowns a week.
    pub fn total_due(&self) -> u64 {
        self.subtotal() + self.weeks_late * LATE_FEE_PER_WEEK
    }
}
