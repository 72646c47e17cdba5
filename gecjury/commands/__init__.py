"""The subcommands of `gecjury`, one file each; imported only when chosen."""
