//! `operator-sdk bundle validate`.

use super::*;
