//! The pages of `serve --http` in a headless browser: by keyboard and by mouse, light and dark, at phone and desktop width; and the
//! page of `catalog graph`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use e2e::{Browser, Programs, skip};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Writes a catalog with three packages, one of them with two channels, skips and a deprecation.
fn catalog(directory: &Path) -> Result<()> {
    let icon = |color: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 10 10\"><circle cx=\"5\" cy=\"5\" r=\"4\" fill=\"{color}\"/></svg>"
        );
        base64::engine::general_purpose::STANDARD.encode(svg)
    };
    for (name, display, color, description) in [
        ("gizmo-operator", "Gizmo Operator", "#2563eb", "Makes gizmos out of the sizes that people ask for"),
        ("widget-operator", "Widget Operator", "#16a34a", "Keeps widgets in every namespace up to date"),
        ("memcached-operator", "Memcached Operator", "#b45309", "Deploys and manages memcached servers"),
    ] {
        let mut text = format!(
            "schema: olm.package\nname: {name}\ndefaultChannel: stable\ndescription: {description}.\n\
             icon: {{base64data: {}, mediatype: image/svg+xml}}\n",
            icon(color)
        );
        write!(
            text,
            "---\nschema: olm.channel\npackage: {name}\nname: stable\nentries:\n\
             - {{name: {name}.v1.0.0}}\n- {{name: {name}.v1.1.0, replaces: {name}.v1.0.0}}\n\
             - {{name: {name}.v1.2.0, replaces: {name}.v1.0.0, skips: [{name}.v1.1.0], skipRange: '<1.2.0'}}\n\
             ---\nschema: olm.channel\npackage: {name}\nname: candidate\nentries:\n\
             - {{name: {name}.v1.2.0}}\n- {{name: {name}.v2.0.0, replaces: {name}.v1.2.0}}\n"
        )?;
        for version in ["1.0.0", "1.1.0", "1.2.0", "2.0.0"] {
            write!(
                text,
                "---\nschema: olm.bundle\npackage: {name}\nname: {name}.v{version}\nimage: quay.io/example/{name}-bundle:v{version}\n\
                 properties:\n- {{type: olm.package, value: {{packageName: {name}, version: {version}}}}}\n\
                 - {{type: olm.gvk, value: {{group: gadgets.example.com, kind: Gizmo, version: v1}}}}\n\
                 - {{type: olm.csv.metadata, value: {{displayName: {display}, description: '{description}.', provider: {{name: Example}}, \
                 links: [{{name: Documentation, url: 'https://docs.example.com'}}], annotations: {{description: {description}}}}}}}\n"
            )?;
        }
        write!(
            text,
            "---\nschema: olm.deprecations\npackage: {name}\nentries:\n\
             - {{reference: {{schema: olm.bundle, name: {name}.v1.0.0}}, message: 'loses data, use 1.2.0'}}\n"
        )?;
        std::fs::write(directory.join(format!("{name}.yaml")), text)?;
    }
    Ok(())
}

/// Saves a screenshot into the directory of `SCREENSHOTS`, if it is set.
async fn picture(browser: &mut Browser, name: &str) -> Result<()> {
    let png = base64::engine::general_purpose::STANDARD.decode(browser.screenshot().await?)?;
    ensure!(png.starts_with(b"\x89PNG"), "no PNG");
    let Some(directory) = std::env::var_os("SCREENSHOTS") else { return Ok(()) };
    std::fs::create_dir_all(&directory)?;
    std::fs::write(Path::new(&directory).join(format!("{name}.png")), png)?;
    Ok(())
}

async fn is_at(browser: &mut Browser, path: &str) -> Result<()> {
    let found = browser.evaluate("location.pathname + location.search").await?;
    ensure!(found == path, "the page is {found}, expected {path}");
    Ok(())
}

#[tokio::test]
async fn packages_are_browsed_by_keyboard_and_by_mouse() -> Result<()> {
    let Some(mut browser) = Browser::start().await? else {
        skip("there is no chromium");
        return Ok(());
    };
    let programs = Programs::from_env()?;
    let directory = tempfile::tempdir()?;
    catalog(directory.path())?;
    let mut server = tokio::process::Command::new(programs.path("bundle-tool"))
        .args(["serve", &directory.path().display().to_string(), "--port", "0", "--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(server.stdout.take().context("no standard output")?).lines();
    lines.next_line().await?.context("no address")?;
    let url = lines.next_line().await?.context("no URL")?;

    // By keyboard alone: search, the package, its channel, and back to the list.
    browser.view(1280, 800, false).await?;
    browser.open(&url).await?;
    browser.tab_to("element.className === 'skip'").await?;
    browser.tab_to("element.id === 'q'").await?;
    for key in ["g", "i", "z"] {
        browser.press(key).await?;
    }
    browser.enter().await?;
    is_at(&mut browser, "/?q=giz").await?;
    ensure!(browser.evaluate("document.querySelectorAll('.cards li').length").await? == 1, "not one package");
    browser.tab_to("element.getAttribute('href') === '/packages/gizmo-operator'").await?;
    let outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle").await?;
    ensure!(outline == "solid", "the focus is not visible: {outline}");
    browser.enter().await?;
    is_at(&mut browser, "/packages/gizmo-operator").await?;
    browser.tab_to("element.textContent === 'stable'").await?;
    browser.enter().await?;
    is_at(&mut browser, "/packages/gizmo-operator/channels/stable").await?;
    browser.tab_to("element.getAttribute('href') === '/'").await?;
    browser.enter().await?;
    is_at(&mut browser, "/").await?;

    // By mouse.
    browser.follow("a[href='/packages/widget-operator']").await?;
    browser.follow("a[href='/packages/widget-operator/channels/candidate']").await?;
    is_at(&mut browser, "/packages/widget-operator/channels/candidate").await?;

    // At each width, nothing is cut off, and what should have loaded has.
    for (size, width, height) in [("phone", 390, 844), ("desktop", 1280, 800)] {
        for (scheme, is_dark) in [("light", false), ("dark", true)] {
            browser.view(width, height, is_dark).await?;
            for (name, path) in [
                ("packages", "?q=operator"),
                ("package", "packages/gizmo-operator"),
                ("channel", "packages/gizmo-operator/channels/stable"),
            ] {
                browser.open(&format!("{url}{path}")).await?;
                let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth").await?;
                ensure!(overflow == 0, "{name} at {width}: {overflow} pixels are cut off");
                let broken =
                    "[...document.images].filter(image => image.complete && image.naturalWidth === 0).length";
                ensure!(browser.evaluate(broken).await? == 0, "{name}: an image is broken");
                let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor").await?;
                ensure!((ground == "rgb(255, 255, 255)") != is_dark, "{name}: the background is {ground}");
                picture(&mut browser, &format!("serve-{name}-{size}-{scheme}")).await?;
            }
        }
    }
    let elsewhere: Vec<_> = browser.requests.iter().filter(|request| !request.starts_with(&url)).collect();
    ensure!(elsewhere.is_empty(), "loaded from elsewhere: {elsewhere:?}");
    ensure!(browser.messages.is_empty(), "{:?}", browser.messages);
    server.kill().await?;
    Ok(())
}

#[tokio::test]
async fn the_upgrade_graph_is_searched_walked_and_zoomed() -> Result<()> {
    let Some(mut browser) = Browser::start().await? else {
        skip("there is no chromium");
        return Ok(());
    };
    let directory = tempfile::tempdir()?;
    let (catalog_directory, page) = (directory.path().join("catalog"), directory.path().join("graph.html"));
    std::fs::create_dir(&catalog_directory)?;
    catalog(&catalog_directory)?;
    let output = tokio::process::Command::new(Programs::from_env()?.path("bundle-tool"))
        .args(["catalog", "graph", &catalog_directory.display().to_string(), "--output", "html"])
        .output()
        .await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(&page, output.stdout)?;
    let url = format!("file://{}", page.display());
    browser.view(1280, 800, false).await?;
    browser.open(&url).await?;
    let selected = "document.querySelector('#selected h2')?.textContent ?? ''";
    let package = "document.querySelector('section.package:not([hidden])').querySelectorAll('.node').length";
    ensure!(browser.evaluate(package).await?.as_u64() > Some(0), "no graph is shown");

    // Search by keyboard, then walk along the channel.
    browser.press("/").await?;
    for key in "widget v2.0.0".chars() {
        browser.press(&key.to_string()).await?;
    }
    browser.press("Enter").await?;
    let found = browser.evaluate(selected).await?;
    ensure!(found == "widget-operator.v2.0.0", "selected: {found}");
    browser.press("ArrowDown").await?;
    let found = browser.evaluate(selected).await?;
    ensure!(found == "widget-operator.v1.2.0", "selected: {found}");
    let drawn = browser.evaluate("document.querySelectorAll('path.path').length").await?;
    ensure!(drawn.as_u64() > Some(0), "no upgrade path is drawn");
    picture(&mut browser, "graph-selected").await?;

    // Zoom by keyboard and by mouse.
    let zoom = "parseInt(document.getElementById('zoom').textContent)";
    let before = browser.evaluate(zoom).await?.as_u64();
    browser.press("+").await?;
    let by_key = browser.evaluate(zoom).await?.as_u64();
    browser.click("#in").await?;
    let by_mouse = browser.evaluate(zoom).await?.as_u64();
    ensure!(before < by_key && by_key < by_mouse, "zoom: {before:?}, {by_key:?}, {by_mouse:?}");
    browser.click("#fit").await?;
    ensure!(browser.evaluate(zoom).await?.as_u64() < by_mouse, "it does not fit");

    // A click selects, Escape deselects.
    browser.click("section.package:not([hidden]) .node").await?;
    ensure!(browser.evaluate(selected).await? != "", "a click selects nothing");
    browser.press("Escape").await?;
    ensure!(browser.evaluate(selected).await? == "", "Escape keeps the selection");
    browser.click("#theme").await?;
    ensure!(browser.evaluate("document.documentElement.dataset.theme").await? == "dark", "the page is light");
    let elsewhere: Vec<_> = browser.requests.iter().filter(|request| !request.starts_with(&url)).collect();
    ensure!(elsewhere.is_empty(), "loaded from elsewhere: {elsewhere:?}");
    ensure!(browser.messages.is_empty(), "{:?}", browser.messages);
    Ok(())
}
