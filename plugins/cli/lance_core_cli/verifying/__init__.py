"""`verify` checks the files of a table, and says in a `VerifyReport` what is damaged."""
