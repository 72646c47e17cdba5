"""What every room needs: errors, files, processes, settings. Nothing here is specific to GEC."""
