"""`make run`: an exam week on the local AWS, played to people who want to see what Proctor does."""
