"""The servers and engines that judge."""
