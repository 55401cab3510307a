"""The laboratory in the browser: its page, and the server that shows it on this machine.

`make lab` builds the page from `web/` and `crates/wasm`. All code of the page runs in the browser.
"""
