"""Groups flows by name: `cubic/1` and `cubic/2` come from one table, `cubic`."""


def group_of(name: str) -> str:
    """Return the group of a flow: its name without the number that `count` adds."""
    group, slash, number = name.rpartition("/")
    return group if slash and number.isdigit() else name


def is_of(name: str, group: str) -> bool:
    """Return whether a flow has this name or belongs to this group."""
    return name == group or group_of(name) == group
