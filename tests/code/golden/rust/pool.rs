//! A pool of workers.

use std::collections::{HashMap, VecDeque as Deque};
use std::sync::Arc;
use crate::job::Job;
pub use self::errors::*;

mod errors;

pub const WORKERS_MAX: usize = 16;
static NAME: &str = "pool";

pub type Result<T> = std::result::Result<T, PoolError>;

/// Why a job was not run.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolError {
    Full,
    Closed { reason: String },
}

/// Runs jobs.
#[derive(Debug)]
pub struct Pool<J: Job> {
    jobs: Deque<J>,
    names: HashMap<u64, String>,
}

/// What can be waited for.
pub trait Wait {
    const LIMIT: u32;
    fn wait(&self) -> bool;

    fn wait_long(&self) -> bool {
        self.wait() && self.wait()
    }
}

impl<J: Job> Pool<J> {
    /// An empty pool.
    pub fn new() -> Self {
        Self { jobs: Deque::new(), names: HashMap::new() }
    }

    #[inline]
    pub fn push(&mut self, job: J) -> Result<()> {
        if self.jobs.len() >= WORKERS_MAX {
            return Err(PoolError::Full);
        }
        self.jobs.push_back(job);
        log::info!("pushed {}", self.jobs.len());
        Ok(())
    }
}

impl<J: Job> Wait for Pool<J> {
    const LIMIT: u32 = 3;

    fn wait(&self) -> bool {
        helper::<J>(&self.jobs);
        true
    }
}

fn helper<J>(_jobs: &Deque<J>) {}

macro_rules! pool {
    ($($job:expr),*) => {{
        let mut pool = Pool::new();
        $(pool.push($job);)*
        pool
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_pool_waits() {
        let pool = Pool::<Noop>::new();
        assert!(pool.wait());
    }
}
