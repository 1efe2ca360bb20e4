//! A server that accepts connections on memcached's port, whatever its arguments are: it stands in for memcached in an
//! image that has a numeric user, which the official image has not.

use std::net::TcpListener;

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:11211")?;
    for connection in listener.incoming() {
        drop(connection);
    }
    Ok(())
}
