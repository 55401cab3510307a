"""The command line.

`commands` has a module for each command, and `tables` prints the tables that commands
show.
"""

import gc

# Run the garbage collector less often, because commands create few reference cycles. This setting
# comes before all other imports, because the collector also runs while modules are loaded.
gc.set_threshold(50_000)
