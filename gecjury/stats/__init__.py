"""Arrays in, numbers out: correlations, preferences, intervals, tests, rankings.

Where there are two rules for one thing, each holds in one place, for a reason given here.

p-values
    Between metrics p is counted: the share of permutations at least as extreme, the observed one
    counted in (`permutation.share_at_least`). With 10,000 permutations that is fine enough for
    Holm's correction over 66 pairs, and correlations over a dozen systems have no normal tail.
    Between systems (`rank`, `diff`) ten permutations or fewer beyond the observed difference are
    read from a normal curve (`permutation.tail_p`): corpus scores cost more, so that there are
    1,000 permutations, and their differences are sums of many small parts.
    Inside soft pairwise accuracy p is one-sided, and equal sums count one half
    (`soft_accuracy.confidence`): it measures how sure an order is and rejects nothing.

Correction
    Holm's, over all pairs of one table, one level and one statistic (`permutation.holm`).

Clusters
    Metrics stand in clusters as in WMT's metrics task: a new one begins with the first that is
    significantly worse than a member of the present one (`permutation.cluster_ranks`).
    Systems stand in clusters as in WMT's translation task: a border runs where every rank range
    above ends before all below begin (`permutation.wmt_clusters`), since `rank` prints the ranges.

Intervals
    Percentiles of the bootstrap's draws (`bootstrap.interval`). Figures that compare a metric with
    people, and differences of such figures, are corrected for bias, since draws of a correlation
    lie below it. Scores of systems, differences of scores, shares and mean changes are means or
    nearly so, and have plain percentiles. So have correlations of MAEGE and AUC by error type,
    which rest on many texts, so that their draws lie below them by little.

Draws
    Whole sentences, and systems as well where a figure is meant for other systems
    (`bootstrap.make_resampled`, `sentence_draws`). Sources of judged edits are drawn as counts
    (`bootstrap.group_counts`: the same law from another stream of random numbers, no indices held).
    Where a choice is made on one half of the sentences and tried on the other, draws stay within
    the parts that make the halves (`bootstrap.draws_within`). Other sizes than that of the data
    are drawn for one purpose only, to see how standard errors fall (`sizes.Quantity.sample`).
"""
