"""The subcommands of ``corp``. Whatever is heavy is imported inside the function that needs it."""
