use std::io::BufRead;
fn main() {
    for l in std::io::stdin().lock().lines() {
        let q: [String; 2] = serde_json::from_str(&l.unwrap()).unwrap();
        match bundle_tool::go_regex::GoRegex::parse(&q[0]) {
            Err(_) => println!("E"),
            Ok(r) => println!(
                "{}",
                match r.is_match(&q[1]) {
                    Some(true) => "1",
                    Some(false) => "0",
                    None => "?",
                }
            ),
        }
    }
}
