//! Tests against a real cluster and a real registry; see README.md here.
