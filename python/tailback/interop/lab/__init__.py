"""The laboratory, a page that runs scenarios in the browser, and the server that shows the page on
this machine.

`make lab` builds the page from `web/` and `crates/wasm`. The page's code runs in the browser.
"""
