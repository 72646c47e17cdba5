"""Steps between a pretrained encoder and the ratings: detection, ranking, other ratings."""
