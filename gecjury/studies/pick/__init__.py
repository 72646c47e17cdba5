"""The best of several corrections of each sentence: the study, and the scores of candidates."""
