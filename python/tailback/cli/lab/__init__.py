"""The laboratory in the browser: its page, and the server that shows it on this machine.

The page is built from `web/` and `crates/wasm` by `make lab`; everything in it runs in the browser.
"""
